import { DIMENSION_IDS, isAdditive, isCurrentCount, isWronglyAdditive, type Metric } from '../../contract/catalog.ts';
import type { ReportRow } from '../../contract/report.ts';
import type { NoteParams } from '../../i18n/note.ts';
import { buildBuckets } from '../../plan/buckets.ts';
import { dataStartsAfter } from '../internal/tables/data-start.ts';
import type { TableNote } from '../notes.ts';
import { type CheckContext, type CheckedAnswer, incompleteNote, readBucket, readGroup } from './checked-answer.ts';
import { isCounted } from './figure-checks.ts';

type Values = Readonly<Record<string, unknown>>;

/** A total that contradicts its rows. */
export type WrongTotal = { readonly metric: string; readonly previous: boolean } & (
  | { readonly kind: 'sum'; readonly of: NoteParams['total_mismatch']['totals'][number] }
  | { readonly kind: 'range'; readonly of: NoteParams['total_outside']['totals'][number] }
);

/**
 * Finds totals that contradict their rows, if all rows are present: in each call, and in the joined table, whose totals
 * may come from a separate call. Running ranges are not checked: the service may compute rows and totals at different
 * times.
 */
export function wrongTotals(
  answers: readonly CheckedAnswer[],
  joined: CheckedAnswer | undefined,
  undefinedTotals: readonly string[] = [],
): WrongTotal[] {
  const ofCalls = answers.flatMap(findWrongTotals);
  return ofCalls.length > 0 || joined === undefined ? ofCalls : findWrongTotals(comparable(joined, undefinedTotals));
}

export function totalFindings(wrong: readonly WrongTotal[]): TableNote[] {
  const sums = wrong.flatMap((each) => (each.kind === 'sum' ? each.of : []));
  const ranges = wrong.flatMap((each) => (each.kind === 'range' ? each.of : []));
  return [
    ...(sums.length === 0 ? [] : [incompleteNote('total_mismatch', { id: 'total_mismatch', of: { totals: sums } })]),
    ...(ranges.length === 0 ? [] : [incompleteNote('total_mismatch', { id: 'total_outside', of: { totals: ranges } })]),
  ];
}

/** Removes current counts, which may differ between calls, and metrics without a known total. */
const comparable = (joined: CheckedAnswer, undefinedTotals: readonly string[]): CheckedAnswer => ({
  ...joined,
  metrics: joined.metrics.filter((metric) => !isCurrentCount(metric) && !undefinedTotals.includes(metric.id)),
});

function findWrongTotals(checked: CheckedAnswer): WrongTotal[] {
  const { request, response, metrics, buckets, previous } = checked;
  const { totals, rows, meta } = response;
  if (totals == null || meta.truncated) return [];
  const complete = isPartition(checked);
  const check = (values: Values, of: readonly Values[], isPrevious: boolean): WrongTotal[] =>
    metrics.flatMap((metric) =>
      isAdditive(metric)
        ? wrongSum(metric, values, of, isPrevious)
        : complete
          ? totalOutside(metric, values, rowsWithData(metric, of, checked, isPrevious), isPrevious)
          : [],
    );
  const now = check(totals, rows, false);
  // Every bucket of the previous period needs a row. Groups that exist only in the previous period may have none.
  const matched = (request.dimensions ?? []).length === 0 && previous?.buckets === buckets.length;
  const compared = totals.compare;
  if (!matched || compared == null) return now;
  const before = rows.map(({ compare }) => compare ?? {});
  return [...now, ...check(compared, before, true)];
}

function wrongSum(
  { id, label }: Metric,
  totals: Values,
  rows: readonly (ReportRow | Values)[],
  previous: boolean,
): WrongTotal[] {
  const total = totals[id];
  let sum = 0;
  for (const row of rows) {
    const value = row[id];
    // Another check reports missing values.
    if (typeof value !== 'number') return [];
    sum += value;
  }
  if (typeof total !== 'number' || total === sum) return [];
  return [{ metric: id, previous, kind: 'sum', of: { label, total, sum, previous } }];
}

/**
 * Dimensions for which every event has exactly one value (specification §2.5). Other dimensions may count an event in
 * several groups.
 */
const PARTITIONS: ReadonlySet<string> = new Set(DIMENSION_IDS);

/** Whether every bucket and group has exactly one row and each event is in exactly one row. */
function isPartition(checked: CheckedAnswer): boolean {
  const { request, response, buckets } = checked;
  const { dimensions = [] } = request;
  if (!dimensions.every((id) => PARTITIONS.has(id))) return false;
  const rows = new Set<string>();
  const groups = new Set<string>(dimensions.length === 0 ? ['[]'] : []);
  for (const row of response.rows) {
    const group = JSON.stringify(readGroup(row, dimensions));
    groups.add(group);
    rows.add(`${readBucket(checked, row)} ${group}`);
  }
  return rows.size === response.rows.length && rows.size === groups.size * buckets.length && rows.size > 0;
}

/** Removes rows before the metric's first day with data: their values are 0 and not part of the total. */
function rowsWithData(
  metric: Metric,
  rows: readonly Values[],
  { range, granularity, response, previous }: CheckedAnswer,
  ofPrevious: boolean,
): readonly Values[] {
  const days = ofPrevious ? previous?.range : range;
  const first = days && dataStartsAfter(metric, days.from);
  if (days === undefined || first === undefined) return rows;
  if (ofPrevious) return [];
  const ends = new Map(buildBuckets(days, granularity).map(({ label, to }) => [label, to]));
  return rows.filter((_, index) => (ends.get(response.rows[index]?.bucket ?? '') ?? days.to) >= first);
}

/** Sums of floating-point numbers may differ in their last digits. */
const SLACK = 1e-9;

/**
 * Finds a total that its rows make impossible. A share or a median lies between those of its parts, a distinct count
 * between the largest part and the sum; with a single row, the total equals it. A 90th percentile may lie anywhere.
 */
function totalOutside(metric: Metric, totals: Values, rows: readonly Values[], previous: boolean): WrongTotal[] {
  const { id, label } = metric;
  const total = totals[id];
  const values = rows.map((row) => row[id]);
  if ((typeof total !== 'number' && total !== null) || values.length === 0) return [];
  const numbers = values.filter((value) => typeof value === 'number');
  // Other checks report missing values and null counts.
  if (values.some((value) => value === undefined)) return [];
  const bounds = computeBounds(metric, numbers, values.length === 1);
  if (bounds === undefined) return [];
  const { low, high } = bounds;
  const isOutside =
    total === null || low === null || high === null
      ? total !== low
      : total < low - SLACK * Math.abs(low) || total > high + SLACK * Math.abs(high);
  if (!isOutside) return [];
  return [{ metric: id, previous, kind: 'range', of: { label, total, low, high, previous } }];
}

interface Bounds {
  /** Null: the total is undefined. */
  readonly low: number | null;
  readonly high: number | null;
}

/** @param values the values of rows that have one */
function computeBounds(metric: Metric, values: readonly number[], single: boolean): Bounds | undefined {
  const low = values.reduce<number | null>((least, value) => (least === null || value < least ? value : least), null);
  const high = values.reduce<number | null>((most, value) => (most === null || value > most ? value : most), null);
  if (single) return { low, high };
  if (isCounted(metric)) {
    const sum = values.reduce((all, value) => all + value, 0);
    return high === null ? undefined : { low: high, high: sum };
  }
  const isShare = metric.unit === 'ratio' && !/^p\d+$/i.test(metric.aggregation);
  return isShare || /^(?:p50|median)$/i.test(metric.aggregation) ? { low, high } : undefined;
}

/** Reports metrics that the catalog calls additive although they cannot be. */
export function additivityFindings({ metrics }: CheckContext): TableNote[] {
  const labels = metrics.filter(isWronglyAdditive).map(({ label }) => label);
  return labels.length === 0 ? [] : [incompleteNote('not_additive', { id: 'not_additive', of: { labels } })];
}
