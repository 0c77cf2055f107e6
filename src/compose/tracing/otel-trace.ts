import type * as OpenTelemetry from '@opentelemetry/api';
import { toDocketError } from '../../base/error.ts';
import type { SpanAttributes, SpanKind, Trace } from '../../base/trace.ts';

/** Attribute names. Uses OpenTelemetry's semantic conventions where they exist. */
export const SPAN_ATTRIBUTES = {
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
} as const satisfies Record<keyof SpanAttributes, string>;

const ATTRIBUTE_NAMES: Readonly<Record<string, string>> = SPAN_ATTRIBUTES;

const toAttributes = (fields: SpanAttributes): OpenTelemetry.Attributes =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([field, value]) => {
      const name = ATTRIBUTE_NAMES[field];
      return name === undefined || value === undefined ? [] : [[name, value]];
    }),
  );

/** Creates spans with the OpenTelemetry provider that this process has registered. */
export function otelTrace(api: typeof OpenTelemetry, version: string): Trace {
  const { INTERNAL: internal, PRODUCER: producer, CLIENT: client, SERVER: server } = api.SpanKind;
  const kinds: Readonly<Record<SpanKind, OpenTelemetry.SpanKind>> = { internal, producer, client, server };
  const tracer = api.trace.getTracer('docket', version);
  return {
    span: ({ name, kind = 'internal', parent, ...fields }, work) => {
      const active = api.context.active();
      const outer = parent === undefined ? active : api.propagation.extract(active, { traceparent: parent });
      const options = { kind: kinds[kind], attributes: toAttributes(fields) };
      return tracer.startActiveSpan(name, options, outer, async (span) => {
        const setAttributes = (more: SpanAttributes): void => {
          span.setAttributes(toAttributes(more));
          if (more.error !== undefined) span.setStatus({ code: api.SpanStatusCode.ERROR });
        };
        try {
          return await work(setAttributes);
        } catch (thrown) {
          const { code, correlationId } = toDocketError(thrown);
          setAttributes({ error: code, ...(correlationId === undefined ? {} : { correlation_id: correlationId }) });
          throw thrown;
        } finally {
          span.end();
        }
      });
    },
    traceparent: () => {
      const carrier: Record<string, string> = {};
      api.propagation.inject(api.context.active(), carrier);
      return carrier.traceparent;
    },
  };
}
