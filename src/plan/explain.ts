import type { Catalog } from '../contract/catalog.ts';
import { LIMITS } from '../contract/limits.ts';
import type { Definition } from '../define/definition.ts';
import { type SlotView, scheduleText } from '../define/slot-view.ts';
import { addressesOf } from '../define/target.ts';
import { rowsAtMost as rowsOf } from './arrange.ts';
import { type Call, callsOf, type Plan, type SectionPlan } from './plan.ts';

/** What only the caller can know of a run: the line for its key now, its next slots. Everything may be left out. */
export interface ExplainExtra {
  /** Tokens free on the key, and when a run that starts now could be answered; from the budget. */
  readonly budget?: { readonly tokens: number; readonly waiting: number; readonly finish: number };
  /** Tells how many groups there can be, and so how many rows; without it the specification's limit is the bound. */
  readonly catalog?: Catalog;
  /** The next slots. */
  readonly slots?: readonly SlotView[];
  /** The organization's zone, which is that of schedules without one. */
  readonly timezone?: string;
}

/** `docket explain --json`. Plain data. */
export interface ExplainDocument {
  readonly org: string;
  readonly report: string;
  readonly title: string;
  readonly period: Plan['period'];
  readonly registry_version: number;
  readonly calls: readonly {
    readonly id: string;
    readonly kind: Call['kind'];
    readonly sections: readonly string[];
    /** What is asked, in words. */
    readonly asks: string;
    /** The request's body, or the list's query. */
    readonly request: unknown;
    /** Null for a list: its length is the service's to say. */
    readonly rows_at_most: number | null;
  }[];
  /** Metrics calls if each metric of each section were asked for on its own, as one query a chart series does. */
  readonly naive_calls: number;
  /** Metrics calls if each section were asked for on its own. */
  readonly section_calls: number;
  /** Metrics calls this plan makes; each costs one token of the key. */
  readonly tokens: number;
  readonly rows_at_most: number | null;
  readonly outputs: readonly string[];
  readonly recipients: readonly string[];
  readonly budget: NonNullable<ExplainExtra['budget']> | null;
  /** One line each, with its zone; empty: on demand only. */
  readonly schedules: readonly string[];
  readonly slots: readonly SlotView[];
}

/** The plan as a document that says what a run would ask, cost and send. Asks nothing and sends nothing. */
export function explain(plan: Plan, extra: ExplainExtra = {}): ExplainDocument {
  const calls = plan.calls.map((call) => ({
    id: call.id,
    kind: call.kind,
    sections: plan.sections.filter((section) => callsOf(section).includes(call.id)).map(({ section }) => section.id),
    asks: inWords(call, plan.period),
    request: call.kind === 'report' ? call.request : queryOf(call),
    rows_at_most: rowsAtMost(call, extra.catalog),
  }));
  return {
    org: plan.org,
    report: plan.report,
    title: plan.definition.title,
    period: plan.period,
    registry_version: plan.registryVersion,
    calls,
    naive_calls: plan.sections.reduce((sum, section) => sum + metricByMetric(section), 0),
    section_calls: plan.sections.reduce(
      (sum, one) => sum + (one.section.list === undefined ? callsOf(one).length : 0),
      0,
    ),
    tokens: plan.calls.filter((call) => call.kind === 'report').length,
    rows_at_most: calls.reduce<number | null>(
      (sum, { rows_at_most }) => (sum === null || rows_at_most === null ? null : sum + rows_at_most),
      0,
    ),
    outputs: plan.definition.outputs.map(({ format, name }) => (name === undefined ? format : `${format}: ${name}`)),
    recipients: recipientsOf(plan.definition),
    budget: extra.budget ?? null,
    schedules: plan.definition.schedule.map(
      (schedule) => `${scheduleText(schedule)} (${schedule.timezone ?? extra.timezone ?? "the organization's zone"})`,
    ),
    slots: extra.slots ?? [],
  };
}

/** Calls of a section when each of its metrics is asked for by itself; one that is asked in pieces takes as many again. */
const metricByMetric = ({ section, join }: SectionPlan): number =>
  join === undefined
    ? new Set(section.metrics).size
    : join.pieces.reduce((sum, { metrics, totals }) => sum + Math.max(metrics.length, totals.length), 0);

const queryOf = ({ list, ordering, search }: Extract<Call, { kind: 'list' }>) => ({
  list,
  ...(ordering === undefined ? {} : { ordering }),
  ...(search === undefined ? {} : { search }),
});

function inWords(call: Call, period: Plan['period']): string {
  if (call.kind === 'list') {
    const { ordering, search } = call;
    return `all pages of ${call.list}${ordering === undefined ? '' : ` by ${ordering}`}${search === undefined ? '' : ` matching "${search}"`}`;
  }
  const { metrics, dimensions, filters, time, limit } = call.request;
  const parts = [metrics.join(', ')];
  if (dimensions !== undefined) parts.push(`by ${dimensions.join(' and ')}`);
  if (time?.granularity !== undefined) parts.push(`each ${time.granularity}`);
  for (const { dimension, op, values } of filters ?? []) {
    parts.push(`where ${dimension} ${op === 'eq' ? 'is' : op.replace('_', ' ')} ${values.join(', ')}`);
  }
  if (time?.compare !== undefined) parts.push('with the previous period');
  if (time?.from === undefined) parts.push('as of now');
  else if (time.from !== period.from || time.to !== period.to) parts.push(`${time.from} to ${time.to}`);
  if (limit !== undefined) parts.push(`first ${limit}`);
  return parts.join('; ');
}

/** Buckets × groups, as far as `limit` and the service's own cap let them through; null for a list. */
function rowsAtMost(call: Call, catalog: Catalog | undefined): number | null {
  if (call.kind === 'list') return null;
  const { dimensions = [], limit } = call.request;
  const unknown = catalog === undefined && dimensions.length > 0;
  const rows = unknown ? Number.POSITIVE_INFINITY : rowsOf(call.request, catalog ?? { dimensions: [] });
  return Math.min(rows, limit ?? Number.POSITIVE_INFINITY, catalog?.limits.max_rows ?? LIMITS.max_rows);
}

/** The addresses and folders the files would go to. */
const recipientsOf = ({ deliveries }: Definition): string[] =>
  deliveries.flatMap((delivery) =>
    delivery.directory === undefined ? addressesOf(delivery) : [`directory ${delivery.directory.path}`],
  );

/** The document for a terminal. */
export function formatExplain(document: ExplainDocument): string {
  const { period, budget } = document;
  const lines = [
    `${document.org}/${document.report}: ${document.title}`,
    `Period   ${period.label} (${period.from} to ${period.to}, ${period.timezone})`,
    `Calls    ${document.tokens} metrics ${document.tokens === 1 ? 'call' : 'calls'} (section by section ${document.section_calls}, metric by metric ${document.naive_calls}), registry version ${document.registry_version}`,
  ];
  document.calls.forEach((call, index) => {
    const rows =
      call.rows_at_most === null ? '' : `, at most ${call.rows_at_most} ${call.rows_at_most === 1 ? 'row' : 'rows'}`;
    lines.push(`  ${index + 1}. ${call.asks}`, `     for ${call.sections.join(', ')}${rows}`);
  });
  lines.push(`Tokens   ${document.tokens} of the key's budget`);
  if (budget !== null) {
    lines.push(
      `Budget   ${budget.tokens} free, ${budget.waiting} waiting; answered by ${new Date(budget.finish).toISOString()} if started now`,
    );
  }
  lines.push(`Outputs  ${document.outputs.join('; ')}`);
  lines.push(
    `To       ${document.recipients.length === 0 ? 'nobody: the report has no delivery' : document.recipients.join(', ')}`,
  );
  if (document.schedules.length > 0) lines.push(`Schedule ${document.schedules.join('\n         ')}`);
  const slots = document.slots.map(
    ({ at, local, timezone, begins }) =>
      `${at}  ${local} (${timezone})${begins === at ? '' : `, begins ${begins.slice(11)}`}`,
  );
  if (slots.length > 0) lines.push(`Next     ${slots.join('\n         ')}`);
  return lines.join('\n');
}
