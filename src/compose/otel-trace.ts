import type * as OpenTelemetry from '@opentelemetry/api';
import { toDocketError } from '../base/error.ts';
import type { SpanKind, Trace, TraceFields } from '../base/trace.ts';

/** Names of the attributes, OpenTelemetry's own where it has some. */
export const ATTRIBUTES = {
  run: 'docket.run',
  org: 'docket.org',
  report: 'docket.report',
  slot: 'docket.slot',
  trigger: 'docket.trigger',
  attempt: 'docket.attempt',
  state: 'docket.state',
  target: 'docket.target',
  delivery: 'docket.delivery',
  count: 'docket.count',
  method: 'http.request.method',
  path: 'url.path',
  server: 'server.address',
  status: 'http.response.status_code',
  correlation_id: 'docket.correlation_id',
  error: 'error.type',
} as const satisfies Record<keyof TraceFields, string>;

const NAMES: Readonly<Record<string, string>> = ATTRIBUTES;

const attributesOf = (fields: TraceFields): OpenTelemetry.Attributes =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([field, value]) => {
      const name = NAMES[field];
      return name === undefined || value === undefined ? [] : [[name, value]];
    }),
  );

/** Spans of the OpenTelemetry that this process has registered. */
export function otelTrace(api: typeof OpenTelemetry, version: string): Trace {
  const { INTERNAL: internal, PRODUCER: producer, CLIENT: client, SERVER: server } = api.SpanKind;
  const kinds: Readonly<Record<SpanKind, OpenTelemetry.SpanKind>> = { internal, producer, client, server };
  const tracer = api.trace.getTracer('docket', version);
  return {
    span: ({ name, kind = 'internal', parent, ...fields }, work) => {
      const active = api.context.active();
      const outer = parent === undefined ? active : api.propagation.extract(active, { traceparent: parent });
      const options = { kind: kinds[kind], attributes: attributesOf(fields) };
      return tracer.startActiveSpan(name, options, outer, async (span) => {
        const tell = (more: TraceFields): void => {
          span.setAttributes(attributesOf(more));
          if (more.error !== undefined) span.setStatus({ code: api.SpanStatusCode.ERROR });
        };
        try {
          return await work(tell);
        } catch (thrown) {
          const { code, correlationId } = toDocketError(thrown);
          tell({ error: code, ...(correlationId === undefined ? {} : { correlation_id: correlationId }) });
          throw thrown;
        } finally {
          span.end();
        }
      });
    },
    parent: () => {
      const carrier: Record<string, string> = {};
      api.propagation.inject(api.context.active(), carrier);
      return carrier.traceparent;
    },
  };
}
