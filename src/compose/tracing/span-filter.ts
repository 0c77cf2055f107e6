import type { Attributes } from '@opentelemetry/api';
import type { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { sanitizeLogText } from '../../base/log.ts';
import { SPAN_ATTRIBUTES } from './otel-trace.ts';

/** The part of an OpenTelemetry exporter that is used here. */
export type SpanExporter = Pick<OTLPTraceExporter, 'export' | 'shutdown' | 'forceFlush'>;
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
export function filterSpans(
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
