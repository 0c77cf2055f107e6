import { z } from 'zod';
import { DocketError } from '../base/error.ts';
import { type Log, logWith } from '../base/log.ts';
import { passwordsIn } from '../base/redactor.ts';
import type { Trace } from '../base/trace.ts';
import { traceVariables } from '../base/trace-variables.ts';
import { version } from '../base/version.ts';
import { queueTelemetry } from '../queue/telemetry.ts';
import { within } from '../queue/within.ts';
import { otelTrace } from './otel-trace.ts';
import type { Surroundings } from './ports.ts';
import { type Exporter, throughTheDoor } from './span-door.ts';

/** Traces that are kept, until they are closed. */
export interface Tracing {
  /** What the process starts from instead: with spans, and with their trace's id on each log line. */
  readonly around: Surroundings;
  /** Sends what is not sent yet, for three seconds at most. */
  close(): Promise<void>;
}

/** What a collector that is away may hold up: a batch while it goes on, and the end of the process. */
const EXPORT_MS = 3_000;

/**
 * Keeps traces where the standard variables of OpenTelemetry ask for it; undefined, and nothing loaded, where they do not.
 * One a process: BullMQ's adapter finds it where OpenTelemetry registers it, which is global. Throws `config.invalid`.
 */
export async function openTracing(around: Surroundings): Promise<Tracing | undefined> {
  const wanted = readVariables(around.env);
  if (wanted === undefined) return undefined;
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base = '', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own = '' } = wanted;
  for (const secret of [...[base, own].flatMap(passwordsIn), ...headerValues(around.env)]) around.learn?.(secret);
  const [api, { BatchSpanProcessor, NodeTracerProvider }, resources, exporter, telemetry] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace-node'),
    import('@opentelemetry/resources'),
    openExporter(wanted),
    queueTelemetry(),
  ]);
  const named = { 'service.name': 'docket', 'service.version': version() };
  // What is named in OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES stands above ours.
  const resource = resources
    .defaultResource()
    .merge(resources.resourceFromAttributes(named))
    .merge(resources.detectResources({ detectors: [resources.envDetector] }));
  const provider = new NodeTracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor(throughTheDoor(exporter, sayExport(around.log), around.redact))],
  });
  provider.register();
  const trace = otelTrace(api, version());
  return {
    around: { ...around, trace, queueTelemetry: telemetry, log: logWith(around.log, () => traceId(trace)) },
    close: async () => {
      await within(
        provider.shutdown().catch(() => {}),
        EXPORT_MS,
      );
      for (const each of [api.trace, api.context, api.propagation]) each.disable();
    },
  };
}

function readVariables(env: Surroundings['env']): z.infer<typeof schema> | undefined {
  const given = Object.fromEntries(
    Object.keys(traceVariables)
      .map((name) => [name, env[name]?.trim()] as const)
      .filter(([, value]) => value !== undefined && value !== ''),
  );
  const { OTEL_SDK_DISABLED: disabled, OTEL_TRACES_EXPORTER: to } = given;
  const named = 'OTEL_EXPORTER_OTLP_ENDPOINT' in given || 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' in given;
  if (disabled?.toLowerCase() === 'true' || to === 'none' || (to === undefined && !named)) return undefined;
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path: [name], message }) => {
    const variable = String(name);
    // An endpoint may carry a password.
    return `${variable}: expected ${message}${variable.endsWith('ENDPOINT') ? '' : `, got "${given[variable]}"`}`;
  });
  throw new DocketError('config.invalid', `Traces cannot be kept as the environment says:\n  ${faults.join('\n  ')}`, {
    next: 'Correct the variables above, or set OTEL_SDK_DISABLED=true; docs/observability/traces.md explains them.',
  });
}

/** What the collector is told in headers, and would repeat: each value, and of `Bearer …` the credential alone. */
const headerValues = (env: Surroundings['env']): string[] =>
  [env.OTEL_EXPORTER_OTLP_HEADERS, env.OTEL_EXPORTER_OTLP_TRACES_HEADERS]
    .flatMap((headers) => headers?.split(',') ?? [])
    .map((pair) => pair.slice(pair.indexOf('=') + 1).trim())
    .map((value) => value.replaceAll('%20', ' '))
    .flatMap((value) => [value, value.split(' ').at(-1) ?? '']);

const schema = z.object(traceVariables);

/** Headers, certificates and compression it reads from the standard variables itself. */
async function openExporter(wanted: z.infer<typeof schema>): Promise<Exporter> {
  const { OTEL_EXPORTER_OTLP_TIMEOUT: ms = EXPORT_MS, OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: timeoutMillis = ms } = wanted;
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own } = wanted;
  const url = own ?? (base === undefined ? undefined : `${base.replace(/\/+$/, '')}/v1/traces`);
  const options = { timeoutMillis, ...(url === undefined ? {} : { url }) };
  const protocol =
    wanted.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? wanted.OTEL_EXPORTER_OTLP_PROTOCOL ?? ('http/protobuf' as const);
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter(options);
}

/** Says once that spans are lost, and once that they arrive again: a collector that is away is nobody's emergency. */
function sayExport(log: Log): (failed: string | undefined) => void {
  let away = false;
  return (failed) => {
    if (failed !== undefined && !away)
      log.warn('Traces do not reach their collector; runs go on without them', { why: failed });
    if (failed === undefined && away) log.info('Traces reach their collector again');
    away = failed !== undefined;
  };
}

function traceId(trace: Trace): { trace_id?: string } {
  const id = trace.parent()?.split('-')[1];
  return id === undefined ? {} : { trace_id: id };
}
