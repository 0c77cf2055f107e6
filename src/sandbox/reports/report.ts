import { REGISTRY_VERSION, type SandboxState, type Tenant } from '../tenants.ts';
import { aggregate, type Grouping } from './aggregate.ts';
import { type Bucket, buckets, type DayRange, toDate, type ZoneDays } from './calendar.ts';
import type { DimensionValues } from './dimensions.ts';
import { toCatalogMetric } from './metric-definition.ts';
import type { ReportQuery } from './report-query.ts';
import type { Snapshot } from './snapshot.ts';

/** A report without the fields of the cache (specification §2.8). */
export interface Report {
  /** Without `cached` and `refresh_retry_after`, which depend on when the response is sent. */
  readonly meta: {
    readonly as_of: string;
    readonly timezone: string;
    readonly range: { readonly from: string; readonly to: string };
    readonly compare_range?: { readonly from: string; readonly to: string };
    readonly granularity: string | null;
    readonly row_count: number;
    readonly truncated: boolean;
    readonly registry_version: number;
  };
  /** The other members of the body as JSON text: `"columns":…,"rows":…` and perhaps `,"totals":…`. */
  readonly rest: string;
}

/** One metric by the requested buckets and groups, and by those of the previous period. */
interface Series {
  readonly values: Float64Array;
  readonly compare: Float64Array | undefined;
}

const cell = (value: number | undefined): number | null => (value === undefined || Number.isNaN(value) ? null : value);
const toDateRange = ({ from, to }: DayRange) => ({ from: toDate(from), to: toDate(to) });

/** Computes a report from the organization's present state (specification §2.8). */
export function computeReport(question: ReportQuery, tenant: Tenant, world: SandboxState): Report {
  const zone = world.zone(question.timezone);
  const state = tenant.snapshot();
  const view = { ...state, today: zone.start(zone.of(state.now)) };
  const spans = buckets(question.range, question.granularity);
  const before = question.compareRange && buckets(question.compareRange, question.granularity);
  const grouping = groupRows(question, view);
  const seen = new Uint8Array(grouping.size).fill(question.dimensions.length === 0 ? 1 : 0);
  const series = (at: Float64Array) =>
    question.metrics.map((metric) => aggregate(metric, view, tenant.timeline, at, grouping.by(metric.table), seen));
  const present = series(bucketEdges(spans, zone));
  const previous = before && series(bucketEdges(before, zone));
  const all: Series[] = present.map((values, index) => ({ values, compare: previous?.[index] }));

  const found = sortedCells(question, all, spans.length, grouping, seen);
  const kept = found.length > question.limit ? found.slice(0, question.limit) : found;
  const now = world.now();
  // A current count has no partial bucket.
  const current = question.metrics.every((metric) => metric.at === undefined);
  const running = (bucket: Bucket) => !current && zone.start(bucket.to + 1) > now;
  return {
    meta: {
      as_of: new Date(now).toISOString(),
      timezone: question.timezone,
      range: toDateRange(question.range),
      ...(question.compareRange && { compare_range: toDateRange(question.compareRange) }),
      granularity: question.granularity ?? null,
      row_count: kept.length,
      truncated: kept.length < found.length,
      registry_version: REGISTRY_VERSION,
    },
    rest:
      `"columns":${JSON.stringify(columnDescriptors(question))}` +
      `,"rows":${rowsJson(question, all, spans, grouping, kept, running)}` +
      (question.totals ? `,"totals":${JSON.stringify(computeTotals(question, tenant, view, zone))}` : ''),
  };
}

/** The starts of the buckets and the end of the last one. Each is the first instant of a day in the time zone. */
function bucketEdges(spans: readonly Bucket[], zone: ZoneDays): Float64Array {
  const ends = spans.slice(-1).map(({ to }) => to + 1);
  return Float64Array.from([...spans.map(({ from }) => from), ...ends], zone.start);
}

interface Groups {
  readonly size: number;
  readonly by: (table: ReportQuery['metrics'][number]['table']) => Grouping;
  /**
   * The value of dimension `nth` in a group, as its index in the catalog; without a value, one after the last index.
   */
  readonly place: (group: number, nth: number) => number;
}

/** The codes of a dimension: those of its values, then the one for rows without a value. */
const collectCodes = ({ codes, none }: DimensionValues): readonly number[] =>
  none === undefined ? codes : [...codes, none];

/** Numbers groups in the order of the catalog, with "no value" last. */
function groupRows({ dimensions, filters }: Pick<ReportQuery, 'dimensions' | 'filters'>, view: Snapshot): Groups {
  const [first, second] = dimensions;
  const inner = second === undefined ? 1 : collectCodes(second.values).length;
  const size = (first === undefined ? 1 : collectCodes(first.values).length) * inner;
  const places = dimensions.map(({ values }) => {
    const place = new Int16Array(values.size).fill(-1);
    for (const [index, code] of collectCodes(values).entries()) place[code] = index;
    return place;
  });
  const [outerPlace, innerPlace] = places;
  return {
    size,
    place: (group, nth) => (nth === 0 ? Math.floor(group / inner) : group % inner),
    by(table) {
      const outer = first && view.column(table, first.id);
      const nested = second && view.column(table, second.id);
      const gates = filters.map(({ dimension, allowed }) => ({ column: view.column(table, dimension), allowed }));
      return {
        size,
        of(row) {
          for (const { column, allowed } of gates) if (allowed[column[row] ?? 0] !== 1) return -1;
          if (outer === undefined) return 0;
          const group = outerPlace?.[outer[row] ?? 0] ?? -1;
          if (nested === undefined || group < 0) return group;
          return group * inner + (innerPlace?.[nested[row] ?? 0] ?? 0);
        },
      };
    },
  };
}

/** The rows as cells (`bucket * groups + group`), sorted as requested, otherwise by bucket, then by each dimension. */
function sortedCells(
  question: ReportQuery,
  all: readonly Series[],
  bucketCount: number,
  grouping: Groups,
  seen: Uint8Array,
): number[] {
  const shown = [...seen.keys()].filter((group) => seen[group] === 1);
  const cells = Array.from({ length: bucketCount }, (_, bucket) =>
    shown.map((group) => bucket * grouping.size + group),
  ).flat();
  if (question.order.length === 0) return cells;
  const keys = question.order.map(({ by, dir }) => {
    const sign = dir === 'asc' ? 1 : -1;
    const metric = question.metrics.findIndex(({ id }) => id === by);
    const dimension = question.dimensions.findIndex(({ id }) => id === by);
    const value = (index: number): number => {
      if (metric >= 0) return all[metric]?.values[index] ?? Number.NaN;
      if (dimension >= 0) return grouping.place(index % grouping.size, dimension);
      return Math.floor(index / grouping.size);
    };
    return { sign, value };
  });
  return cells.sort((a, b) => {
    for (const { sign, value } of keys) {
      const [left, right] = [value(a), value(b)];
      // Undefined values are last in either direction.
      if (Number.isNaN(left) || Number.isNaN(right)) {
        if (Number.isNaN(left) !== Number.isNaN(right)) return Number.isNaN(left) ? 1 : -1;
      } else if (left !== right) return sign * (left - right);
    }
    return a - b;
  });
}

function columnDescriptors({ metrics, dimensions, granularity }: ReportQuery): unknown[] {
  const time = { name: 'bucket', kind: 'time', type: 'date', unit: null };
  const label = { day: 'Day', week: 'Week', month: 'Month' };
  return [
    ...(granularity === undefined ? [] : [{ ...time, label: label[granularity] }]),
    ...dimensions.map(({ id, values: { descriptor } }) => {
      const { label, type } = descriptor;
      return { name: id, label, kind: 'dimension', type, unit: null };
    }),
    ...metrics.map((metric) => {
      const { id, label: title, type, unit } = toCatalogMetric(metric, 0);
      return { name: id, label: title, kind: 'metric', type, unit };
    }),
  ];
}

/**
 * The rows as JSON text, built as one string. Serializing 5,000 objects takes twice as long, which is longer than
 * computing the values.
 */
function rowsJson(
  question: ReportQuery,
  all: readonly Series[],
  spans: readonly Bucket[],
  grouping: Groups,
  kept: readonly number[],
  running: (bucket: Bucket) => boolean,
): string {
  const heads = spans.map(({ label }) => (question.granularity === undefined ? '' : `"bucket":"${toDate(label)}",`));
  const tails = spans.map((span) => `"partial":${running(span)}}`);
  const names = question.dimensions.map(({ id, values }) =>
    [...values.descriptor.values.map(({ value }) => value), null].map(
      (value) => `${JSON.stringify(id)}:${JSON.stringify(value)},`,
    ),
  );
  const keys = question.metrics.map(({ id }) => `${JSON.stringify(id)}:`);
  const figures = all.map(({ values }) => values);
  // A current count has no previous period.
  const before = all.map(({ compare }, nth) => (question.metrics[nth]?.at === undefined ? undefined : compare));
  let text = '';
  for (const index of kept) {
    const bucket = Math.floor(index / grouping.size);
    text += (text === '' ? '{' : ',{') + heads[bucket];
    for (let nth = 0; nth < names.length; nth++) text += names[nth]?.[grouping.place(index % grouping.size, nth)];
    for (let nth = 0; nth < keys.length; nth++) text += `${keys[nth]}${cell(figures[nth]?.[index])},`;
    if (question.compareRange !== undefined) {
      // The n-th bucket belongs to the n-th of the previous period; null after its end.
      const values = keys.map((key, nth) => `${key}${cell(before[nth]?.[index])}`);
      text += `"compare":{${values.join()}},`;
    }
    text += tails[bucket];
  }
  return `[${text}]`;
}

/** Computes each metric for the whole range, ungrouped and regardless of the limit (specification §2.8). */
function computeTotals(question: ReportQuery, tenant: Tenant, view: Snapshot, zone: ZoneDays): Record<string, unknown> {
  const grouping = groupRows({ dimensions: [], filters: question.filters }, view);
  const over = (range: DayRange) => {
    const span = bucketEdges(buckets(range, undefined), zone);
    return question.metrics.map((metric) => {
      const [value] = aggregate(metric, view, tenant.timeline, span, grouping.by(metric.table), new Uint8Array(1));
      return [metric.id, cell(value), metric.at] as const;
    });
  };
  const { compareRange } = question;
  return {
    ...Object.fromEntries(over(question.range)),
    ...(compareRange && {
      compare: Object.fromEntries(over(compareRange).map(([id, value, at]) => [id, at === undefined ? null : value])),
    }),
  };
}
