import type { Attributes } from '@opentelemetry/api';
import type { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { logText } from '../base/log-text.ts';
import { ATTRIBUTES } from './otel-trace.ts';

/** What takes spans to a collector, as far as it matters here. */
export type Exporter = Pick<OTLPTraceExporter, 'export' | 'shutdown' | 'forceFlush'>;
type Span = Parameters<Exporter['export']>[0][number];

/** Ours, and of BullMQ's those that say which job. Its others quote options, results and failures. */
const ALLOWED: ReadonlySet<string> = new Set([
  ...Object.values(ATTRIBUTES),
  'bullmq.queue.name',
  'bullmq.queue.operation',
  'bullmq.job.id',
  'bullmq.job.name',
  'bullmq.job.attempts.made',
]);

/** BullMQ's looks for jobs and renewals of locks: of no run, every few seconds, each a trace of its own. */
const HOUSEKEEPING = /^(getNextJob|extendLocks|pause)\b/;

/**
 * The one way out for spans: whoever made them, only attributes leave that are on the list, no event (exceptions carry
 * messages and stacks), no status message, and no housekeeping; of texts what may stand in a log line.
 *
 * @param said told after each batch why it was lost, or undefined
 * @param redact takes known secrets out of a text: a caller may put one into a path
 */
export function throughTheDoor(
  exporter: Exporter,
  said: (failed: string | undefined) => void,
  redact?: (text: string) => string,
): Exporter {
  return {
    export: (spans, done) => {
      const leaving = spans.filter(
        ({ name, instrumentationScope: by }) => by.name !== 'bullmq' || !HOUSEKEEPING.test(name),
      );
      if (leaving.length === 0) return done({ code: 0 });
      exporter.export(
        leaving.map((span) => asAllowed(span, redact)),
        (result) => {
          said(result.code === 0 ? undefined : (result.error?.message ?? 'no answer'));
          done(result);
        },
      );
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush(),
  };
}

function asAllowed(span: Span, redact: ((text: string) => string) | undefined): Span {
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
    attributes: onlyAllowed(span.attributes, redact),
    links: links.map(({ context }) => ({ context })),
    events: [],
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

const onlyAllowed = (attributes: Attributes, redact: ((text: string) => string) | undefined): Attributes =>
  Object.fromEntries(
    Object.entries(attributes)
      .filter(([name]) => ALLOWED.has(name))
      .map(([name, value]) => [name, typeof value === 'string' ? logText(value, redact) : value]),
  );
