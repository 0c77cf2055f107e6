import type { Catalog } from '../contract/catalog.ts';
import { LIMITS } from '../contract/limits.ts';
import type { ReportRequest } from '../contract/report.ts';
import { formatSchedule, type SlotView } from '../definitions/schedules/slot-view.ts';
import type { ComparisonKind, ToDate } from '../definitions/schema/comparison.ts';
import { type Call, collectAllCalls, collectCalls, type PartnerPlan, type Plan, type SectionPlan } from './plan.ts';
import type { Unprepared } from './prepare.ts';
import { countMaxRows } from './requests/partition.ts';
import { wantedComparisons } from './requests/section-requests.ts';
import type { SplitPlan } from './split/split-plan.ts';

/** Additional facts from the caller. All are optional. */
export interface ExplainContext {
  /** Free tokens and waiters of the key, and the estimated finish (epoch ms) of a run that would start now. */
  readonly budget?: { readonly tokens: number; readonly waiting: number; readonly finish: number };
  /** Limits the number of groups and rows. Without it, the specification's limit applies. */
  readonly catalog?: Catalog;
  /** Where the files would go, in words. */
  readonly recipients?: readonly string[];
  /** The next slots. */
  readonly slots?: readonly SlotView[];
  /** The organization's time zone, for schedules without one. */
  readonly timezone?: string;
  /** What would be prepared for the next slot with `prepare`. */
  readonly prepare?: ExplainDocument['prepare'] | undefined;
  /** For a report with `split`, whose plan is that of one value: the calls for all values, and the number of values. */
  readonly split?: { readonly plan: SplitPlan; readonly values: number };
  /** Ids of the sections that readings answer. The plan no longer contains their calls. */
  readonly answered?: ReadonlySet<string>;
}

/** The output of `docket explain --json`. Plain data. */
export interface ExplainDocument {
  readonly org: string;
  readonly report: string;
  readonly title: string;
  readonly period: Plan['period'];
  readonly registry_version: number;
  readonly calls: readonly {
    readonly id: string;
    readonly kind: Call['kind'];
    /** The sections whose own figures the call provides. */
    readonly sections: readonly string[];
    /** The sections whose comparisons, figures to date or trends the call provides. */
    readonly partners: readonly (Pick<PartnerPlan, 'kind' | 'of'> & { readonly section: string })[];
    /** Describes the request in words. */
    readonly asks: string;
    /** The request's body, or the list's query. */
    readonly request: unknown;
    /** Null for a list, whose length is unknown. */
    readonly rows_at_most: number | null;
  }[];
  /** How many metrics calls there would be with one call per metric of each section. */
  readonly naive_calls: number;
  /** How many metrics calls there would be without sharing between sections. */
  readonly section_calls: number;
  /** How many metrics calls are needed only for comparisons, figures to date or trends. Included in `tokens`. */
  readonly further_calls: Readonly<Record<PartnerPlan['kind'], number>>;
  /** Without text sections, which have no figures. */
  readonly sections: readonly {
    readonly id: string;
    readonly period: Plan['period'];
    readonly comparisons: readonly ComparisonKind[];
    readonly to_date: ToDate | null;
    /** Its figures are stored readings of current counts and cost no call. */
    readonly readings: boolean;
    /**
     * Its ratios and durations with a known base whose number of cases is not requested, because its calls cannot take
     * it.
     */
    readonly without_cases: readonly string[];
  }[];
  /**
   * For a report with `split`: how many calls separate runs for each value would make, without sharing. Null for
   * others.
   */
  readonly split: { readonly by: string; readonly values: number; readonly one_by_one: number } | null;
  /** The metrics calls of this plan. Each costs one token of the key. */
  readonly tokens: number;
  readonly rows_at_most: number | null;
  readonly outputs: readonly string[];
  readonly recipients: readonly string[];
  readonly budget: NonNullable<ExplainContext['budget']> | null;
  /** One line each, with its time zone. Empty: on demand only. */
  readonly schedules: readonly string[];
  readonly slots: readonly SlotView[];
  /** For the next slot with `prepare`, with ISO instants; null if there is none. */
  readonly prepare: {
    readonly slot: string;
    readonly begins: string;
    /** The number of calls that are made before the slot. */
    readonly calls: number;
    /** The number of calls in its whole plan, including lists. */
    readonly of: number;
    /** When the first of them is made; null if there are none. */
    readonly from: string | null;
    /** The calls that are left to the run. */
    readonly others: readonly { readonly call: string; readonly why: Unprepared }[];
  } | null;
}

/** Describes what a run would request, cost and send. It makes no calls. */
export function explain(plan: Plan, extra: ExplainContext = {}): ExplainDocument {
  const { answered = new Set<string>(), split } = extra;
  const made = split?.plan.calls ?? plan.calls;
  const unanswered = plan.sections.filter(({ section }) => !answered.has(section.id));
  const calls = made.map((call) => ({
    id: call.id,
    kind: call.kind,
    sections:
      split?.plan.sections.get(call.id) ??
      unanswered.filter((section) => collectCalls(section).includes(call.id)).map(({ section }) => section.id),
    partners: unanswered.flatMap(({ section, partners }) =>
      partners
        .filter((partner) => collectCalls(partner).includes(call.id))
        .map(({ kind, of }) => ({ section: section.id, kind, of })),
    ),
    asks: describeCall(call, plan.period),
    request: call.kind === 'report' ? call.request : buildQuery(call),
    rows_at_most: callRowLimit(call, extra.catalog),
  }));
  const ownCalls = new Set(unanswered.flatMap(collectCalls));
  const requests = new Map(plan.calls.flatMap((call) => (call.kind === 'report' ? [[call.id, call.request]] : [])));
  const furtherCalls = (kind: PartnerPlan['kind']): number =>
    calls.filter(({ id, partners }) => !ownCalls.has(id) && partners[0]?.kind === kind).length;
  return {
    org: plan.org,
    report: plan.report,
    title: plan.definition.title,
    period: plan.period,
    registry_version: plan.registryVersion,
    calls,
    naive_calls: unanswered.reduce((sum, section) => sum + naiveCallCount(section), 0),
    section_calls: unanswered.reduce(
      (sum, one) => sum + (one.section.list === undefined ? collectAllCalls(one).length : 0),
      0,
    ),
    further_calls: {
      previous_year: furtherCalls('previous_year'),
      to_date: furtherCalls('to_date'),
      trend: furtherCalls('trend'),
    },
    sections: plan.sections.flatMap((planned) => {
      const { section, period, comparisons, toDate } = planned;
      return section.layout === 'text'
        ? []
        : {
            id: section.id,
            period,
            comparisons: answered.has(section.id) ? wantedComparisons(section, plan.definition) : comparisons,
            to_date: toDate ?? null,
            readings: answered.has(section.id),
            without_cases: answered.has(section.id) ? [] : withoutCases(planned, requests),
          };
    }),
    split:
      split === undefined
        ? null
        : { by: split.plan.by, values: split.values, one_by_one: split.values * reportCalls(plan.calls) },
    tokens: reportCalls(made),
    rows_at_most: calls.reduce<number | null>(
      (sum, { rows_at_most }) => (sum === null || rows_at_most === null ? null : sum + rows_at_most),
      0,
    ),
    outputs: plan.definition.outputs.map(({ format, name }) => (name === undefined ? format : `${format}: ${name}`)),
    recipients: extra.recipients ?? [],
    budget: extra.budget ?? null,
    schedules: plan.definition.schedule.map(
      (schedule) => `${formatSchedule(schedule)} (${schedule.timezone ?? extra.timezone ?? "the organization's zone"})`,
    ),
    slots: extra.slots ?? [],
    prepare: extra.prepare ?? null,
  };
}

const reportCalls = (calls: readonly Call[]): number => calls.filter(({ kind }) => kind === 'report').length;

/** The metrics of a section with a base that none of its own calls provides. */
function withoutCases(
  { section, call, join, baseJoin, bases = [] }: SectionPlan,
  requests: ReadonlyMap<string, ReportRequest>,
): string[] {
  const given = new Set([
    ...(section.metrics ?? []),
    ...((join === undefined ? requests.get(call ?? '') : baseJoin?.request)?.metrics ?? []),
  ]);
  return bases.filter(({ base }) => !given.has(base)).map(({ metric }) => metric);
}

/** The calls of a section with one call per metric and part, including its partners. */
const naiveCallCount = ({ section, call, join, partners }: SectionPlan): number => {
  const requests = new Map(partners.map((partner) => [`${partner.kind} ${partner.call}`, partner]));
  return [...requests.values()]
    .filter((partner) => partner.call !== call)
    .reduce(
      (sum, partner) => sum + partCount(partner.request.metrics, partner.join),
      partCount(section.metrics ?? [], join),
    );
};

const partCount = (metrics: readonly string[], join: SectionPlan['join']): number =>
  join === undefined
    ? new Set(metrics).size
    : join.parts.reduce((sum, part) => sum + Math.max(part.metrics.length, part.totals.length), 0);

const buildQuery = ({ list, ordering, search }: Extract<Call, { kind: 'list' }>) => ({
  list,
  ...(ordering === undefined ? {} : { ordering }),
  ...(search === undefined ? {} : { search }),
});

function describeCall(call: Call, period: Plan['period']): string {
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

/** Buckets × groups, limited by `limit` and the service's limit; null for a list. */
function callRowLimit(call: Call, catalog: Catalog | undefined): number | null {
  if (call.kind === 'list') return null;
  const { dimensions = [], limit } = call.request;
  const unknown = catalog === undefined && dimensions.length > 0;
  const rows = unknown ? Number.POSITIVE_INFINITY : countMaxRows(call.request, catalog ?? { dimensions: [] });
  return Math.min(rows, limit ?? Number.POSITIVE_INFINITY, catalog?.limits.max_rows ?? LIMITS.max_rows);
}

const PARTNER_KINDS = ['previous_year', 'to_date', 'trend'] as const;
const PARTNER_TEXTS = {
  previous_year: 'the year before',
  to_date: 'the figures to date',
  trend: 'the trend',
} as const;

/** Who uses a call: `days, rate; the year before of days (rows and totals)`. */
function formatReaders({ sections, partners }: ExplainDocument['calls'][number]): string {
  const others = PARTNER_KINDS.flatMap((kind) => {
    const readers = partners.filter((partner) => partner.kind === kind);
    if (readers.length === 0) return [];
    const names = [...new Set(readers.map(({ section }) => section))].map((id) => {
      const read = readers.filter(({ section }) => section === id).map(({ of }) => of);
      return kind === 'trend' ? id : `${id} (${read.join(' and ')})`;
    });
    return [`${PARTNER_TEXTS[kind]} of ${names.join(', ')}`];
  });
  return [...(sections.length === 0 ? [] : [sections.join(', ')]), ...others].join('; ');
}

const UNPREPARED: Record<Unprepared, string> = {
  list: 'lists',
  current: 'current counts',
  incomplete: 'days that are not complete before it',
};

/** E.g. `12 of 14 calls of the slot 2026-…, from 2026-… on; at the slot: lists (1), current counts (1)`. */
export function formatPreparation({ slot, calls, of, from, others }: NonNullable<ExplainDocument['prepare']>): string {
  const reasons = [...new Set(others.map(({ why }) => why))].map(
    (why) => `${UNPREPARED[why]} (${others.filter((other) => other.why === why).length})`,
  );
  const since = from === null ? '' : `, from ${from} on`;
  const left = reasons.length === 0 ? '' : `; at the slot: ${reasons.join(', ')}`;
  return `${calls} of ${of} ${of === 1 ? 'call' : 'calls'} of the slot ${slot}${since}${left}`;
}

/** Formats the document for a terminal. */
export function formatExplain(document: ExplainDocument): string {
  const { period, budget } = document;
  const lines = [
    `${document.org}/${document.report}: ${document.title}`,
    `Period   ${period.label} (${period.from} to ${period.to}, ${period.timezone})`,
    `Calls    ${document.tokens} metrics ${document.tokens === 1 ? 'call' : 'calls'} (section by section ${document.section_calls}, metric by metric ${document.naive_calls}), registry version ${document.registry_version}`,
  ];
  lines.splice(
    2,
    0,
    ...document.sections
      .filter(({ period: { from, to } }) => from !== period.from || to !== period.to)
      .map(({ id, period: own }) => {
        const days = `${own.from} to ${own.to}`;
        // The label of a plain range of days already names the days.
        return `         ${id}: ${own.label === days ? days : `${own.label} (${days})`}`;
      }),
  );
  document.calls.forEach((call, index) => {
    const rows =
      call.rows_at_most === null ? '' : `, at most ${call.rows_at_most} ${call.rows_at_most === 1 ? 'row' : 'rows'}`;
    lines.push(`  ${index + 1}. ${call.asks}`, `     for ${formatReaders(call)}${rows}`);
  });
  const read = document.sections.filter(({ readings }) => readings).map(({ id }) => id);
  if (read.length > 0) lines.push(`Readings ${read.join(', ')}: stored readings of current counts, no calls`);
  for (const { id, without_cases } of document.sections) {
    if (without_cases.length > 0)
      lines.push(`Cases    ${id}: its calls have no room for the number of cases of ${without_cases.join(', ')}`);
  }
  const further = PARTNER_KINDS.filter((kind) => document.further_calls[kind] > 0);
  if (further.length > 0) {
    lines.push(
      `Further  ${further.map((kind) => `${document.further_calls[kind]} for ${PARTNER_TEXTS[kind]}`).join(', ')}`,
    );
  }
  if (document.split !== null) {
    const { by, values, one_by_one: oneByOne } = document.split;
    lines.push(
      `Split    by ${by}, ${values} ${values === 1 ? 'value' : 'values'}; one run for each would take ${oneByOne} calls`,
    );
  }
  lines.push(`Tokens   ${document.tokens} of the key's budget`);
  if (budget !== null) {
    lines.push(
      `Budget   ${budget.tokens} free, ${budget.waiting} waiting; answered by ${new Date(budget.finish).toISOString()} if started now`,
    );
  }
  lines.push(`Outputs  ${document.outputs.join('; ')}`);
  lines.push(`To       ${document.recipients.length === 0 ? '(no deliveries)' : document.recipients.join(', ')}`);
  if (document.schedules.length > 0) lines.push(`Schedule ${document.schedules.join('\n         ')}`);
  const slots = document.slots.map(
    ({ at, local, timezone, begins }) =>
      `${at}  ${local} (${timezone})${begins === at ? '' : `, begins ${begins.slice(11)}`}`,
  );
  if (slots.length > 0) lines.push(`Next     ${slots.join('\n         ')}`);
  if (document.prepare !== null) lines.push(`Prepare  ${formatPreparation(document.prepare)}`);
  return lines.join('\n');
}
