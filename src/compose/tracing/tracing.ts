import type { Attributes } from '@opentelemetry/api';
import type { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { z } from 'zod';
import { settlesWithin } from '../../base/concurrency.ts';
import { traceVariables } from '../../base/config/config.ts';
import { type AppContext, version } from '../../base/context.ts';
import { DocketError } from '../../base/error.ts';
import { childLog, type Log, sanitizeLogText } from '../../base/log.ts';
import { proxiedAgent } from '../../base/net/proxied-agent.ts';
import { type FindProxy, findProxyBy } from '../../base/net/proxies.ts';
import { passwordsIn } from '../../base/secrets/redactor.ts';
import { secretSource } from '../../base/secrets/secret.ts';
import type { Trace } from '../../base/trace.ts';
import { type QueueTelemetry, queueTelemetry } from '../../queue/bullmq.ts';
import { otelTrace, SPAN_ATTRIBUTES } from './otel-trace.ts';

/** The context of a process that may export traces. */
export interface TracedContext extends AppContext {
  /** BullMQ's tracing. Absent if no traces are exported. */
  readonly queueTelemetry?: QueueTelemetry;
}

/** Exports traces until it is closed. */
export interface Tracing {
  /** The given context with a trace. Each log line includes the trace id. */
  readonly context: TracedContext;
  /** Exports the remaining spans, for at most three seconds. */
  close(): Promise<void>;
}

/** Ms that an unreachable collector may delay a batch, and the shutdown. */
const EXPORT_TIMEOUT_MS = 3_000;

/**
 * Exports traces if OpenTelemetry's standard variables are set. Otherwise returns undefined and loads nothing. One per
 * process, because BullMQ's adapter finds the provider in OpenTelemetry's global registry. Throws `config.invalid`.
 */
export async function openTracing(context: AppContext): Promise<Tracing | undefined> {
  const settings = readOtelVariables(context.env);
  if (settings === undefined) return undefined;
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base = '', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own = '' } = settings;
  for (const secret of [...[base, own].flatMap(passwordsIn), ...headerValues(context.env)])
    context.registerSecret?.(secret);
  const [api, { BatchSpanProcessor, NodeTracerProvider }, resources, exporter, telemetry] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace-node'),
    import('@opentelemetry/resources'),
    openExporter(settings, findProxyBy(context.config, secretSource(context.env, context))),
    queueTelemetry(),
  ]);
  const defaults = { 'service.name': 'docket', 'service.version': version() };
  // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override the defaults.
  const resource = resources
    .defaultResource()
    .merge(resources.resourceFromAttributes(defaults))
    .merge(resources.detectResources({ detectors: [resources.envDetector] }));
  const provider = new NodeTracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor(filterSpans(exporter, logExportState(context.log), context.redact))],
  });
  provider.register();
  const trace = otelTrace(api, version());
  return {
    context: { ...context, trace, queueTelemetry: telemetry, log: childLog(context.log, () => traceId(trace)) },
    close: async () => {
      await settlesWithin(
        provider.shutdown().catch(() => {}),
        EXPORT_TIMEOUT_MS,
      );
      for (const each of [api.trace, api.context, api.propagation]) each.disable();
    },
  };
}

function readOtelVariables(env: AppContext['env']): z.infer<typeof otelSchema> | undefined {
  const given = Object.fromEntries(
    Object.keys(traceVariables)
      .map((name) => [name, env[name]?.trim()] as const)
      .filter(([, value]) => value !== undefined && value !== ''),
  );
  const { OTEL_SDK_DISABLED: disabled, OTEL_TRACES_EXPORTER: to } = given;
  const named = 'OTEL_EXPORTER_OTLP_ENDPOINT' in given || 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' in given;
  if (disabled?.toLowerCase() === 'true' || to === 'none' || (to === undefined && !named)) return undefined;
  const parsed = otelSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path: [name], message }) => {
    const variable = String(name);
    // An endpoint may contain a password, so it is not quoted.
    return `${variable}: expected ${message}${variable.endsWith('ENDPOINT') ? '' : `, got "${given[variable]}"`}`;
  });
  throw new DocketError('config.invalid', `Invalid OTEL_* settings:\n  ${problems.join('\n  ')}`, {
    next: 'Correct the variables above, or set OTEL_SDK_DISABLED=true; docs/reference/traces.md explains them.',
  });
}

/**
 * Credentials in headers, which an error of the collector may repeat: each full value, and the credential in `Bearer
 * …`.
 */
const headerValues = (env: AppContext['env']): string[] =>
  [env.OTEL_EXPORTER_OTLP_HEADERS, env.OTEL_EXPORTER_OTLP_TRACES_HEADERS]
    .flatMap((headers) => headers?.split(',') ?? [])
    .map((pair) => pair.slice(pair.indexOf('=') + 1).trim())
    .map((value) => value.replaceAll('%20', ' '))
    .flatMap((value) => [value, value.split(' ').at(-1) ?? '']);

const otelSchema = z.object(traceVariables);

/** The exporter itself reads headers, certificates and compression from the standard variables. */
async function openExporter(settings: z.infer<typeof otelSchema>, findProxy: FindProxy): Promise<SpanExporter> {
  const { OTEL_EXPORTER_OTLP_TIMEOUT: ms = EXPORT_TIMEOUT_MS, OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: timeoutMillis = ms } =
    settings;
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own } = settings;
  const url = own ?? (base === undefined ? undefined : `${base.replace(/\/+$/, '')}/v1/traces`);
  const options = {
    timeoutMillis,
    ...(url === undefined ? {} : { url }),
    httpAgentOptions: (scheme: string) =>
      proxiedAgent(scheme === 'https:' ? 'https:' : 'http:', findProxy, {
        keepAlive: true,
        timeout: EXPORT_TIMEOUT_MS,
      }),
  };
  const protocol =
    settings.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? settings.OTEL_EXPORTER_OTLP_PROTOCOL ?? ('http/protobuf' as const);
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter(options);
}

/** Logs once when spans are lost, and once when exports work again. */
function logExportState(log: Log): (failed: string | undefined) => void {
  let failing = false;
  return (failed) => {
    if (failed !== undefined && !failing)
      log.warn('Traces do not reach the collector; runs continue without them', { why: failed });
    if (failed === undefined && failing) log.info('Traces reach the collector again');
    failing = failed !== undefined;
  };
}

function traceId(trace: Trace): { trace_id?: string } {
  const id = trace.traceparent()?.split('-')[1];
  return id === undefined ? {} : { trace_id: id };
}

/** The part of an OpenTelemetry exporter that is used here. */
type SpanExporter = Pick<OTLPTraceExporter, 'export' | 'shutdown' | 'forceFlush'>;
type Span = Parameters<SpanExporter['export']>[0][number];

/**
 * Docket's attributes, and those of BullMQ that identify the job. BullMQ's others contain options, results and
 * failures.
 */
const ALLOWED_ATTRIBUTES: ReadonlySet<string> = new Set([
  ...Object.values(SPAN_ATTRIBUTES),
  'bullmq.queue.name',
  'bullmq.queue.operation',
  'bullmq.job.id',
  'bullmq.job.name',
  'bullmq.job.attempts.made',
]);

/** BullMQ's polling and lock renewal. Every few seconds, each would be a trace of its own. */
const HOUSEKEEPING = /^(getNextJob|extendLocks|pause)\b/;

/**
 * Filters spans before export, whichever library created them: keeps only listed attributes, and removes events
 * (exceptions contain messages and stacks), status messages and polling. Sanitizes text as the log does.
 *
 * @param onResult called after each batch with the reason why it was lost, or undefined
 * @param redact removes known secrets: a caller may have put one into a path
 */
function filterSpans(
  exporter: SpanExporter,
  onResult: (failed: string | undefined) => void,
  redact?: (text: string) => string,
): SpanExporter {
  return {
    export: (spans, done) => {
      const exported = spans.filter(
        ({ name, instrumentationScope: by }) => by.name !== 'bullmq' || !HOUSEKEEPING.test(name),
      );
      if (exported.length === 0) return done({ code: 0 });
      exporter.export(
        exported.map((span) => filteredSpan(span, redact)),
        (result) => {
          onResult(result.code === 0 ? undefined : (result.error?.message ?? 'no answer'));
          done(result);
        },
      );
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush(),
  };
}

function filteredSpan(span: Span, redact: ((text: string) => string) | undefined): Span {
  const { name, kind, startTime, endTime, duration, ended, resource, instrumentationScope, links } = span;
  const { parentSpanContext: parent } = span;
  return {
    name,
    kind,
    spanContext: () => span.spanContext(),
    ...(parent === undefined ? {} : { parentSpanContext: parent }),
    startTime,
    endTime,
    duration,
    ended,
    resource,
    instrumentationScope,
    status: { code: span.status.code },
    attributes: filteredAttributes(span.attributes, redact),
    links: links.map(({ context }) => ({ context })),
    events: [],
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

const filteredAttributes = (attributes: Attributes, redact: ((text: string) => string) | undefined): Attributes =>
  Object.fromEntries(
    Object.entries(attributes)
      .filter(([name]) => ALLOWED_ATTRIBUTES.has(name))
      .map(([name, value]) => [name, typeof value === 'string' ? sanitizeLogText(value, redact) : value]),
  );
