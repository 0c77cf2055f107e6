import type { Metric } from '../../contract/catalog.ts';
import type { Order, ReportRow } from '../../contract/report.ts';
import { toMeasure } from '../../definitions/schema/values/units.ts';
import { type DateRange, previousPeriod } from '../../plan/buckets.ts';
import { truncateId } from '../client/untrusted-input.ts';
import type { WrongFigure } from '../dataset.ts';
import type { TableNote } from '../notes.ts';
import {
  type CallAnswer,
  type CheckContext,
  type CheckedAnswer,
  incompleteNote,
  readBucket,
  readGroup,
  toCheckedAnswer,
} from './checked-answer.ts';
import { columnFindings, columnMismatches } from './column-checks.ts';
import { figureFindings, invalidFigures, unitFindings, unitMismatches } from './figure-checks.ts';
import { rowFindings } from './row-checks.ts';
import { runningFindings } from './running-check.ts';
import { additivityFindings, totalFindings, wrongTotals } from './total-checks.ts';

/** What is wrong with the responses of a table. */
export interface AnswerFindings {
  readonly notes: readonly TableNote[];
  /** Figures of the table itself that cannot be right. Figures that it is compared with are not included. */
  readonly wrong: readonly WrongFigure[];
}

/**
 * Checks the responses of a table against their requests and the catalog (specification §2.4 to §2.8). Every finding
 * makes the table incomplete; its values are not changed. Several findings of one kind become one note with their
 * number and the first finding.
 */
export function checkAnswers(answers: readonly CallAnswer[], context: CheckContext): AnswerFindings {
  const checked = answers.map((answer) => toCheckedAnswer(answer, context));
  const whole = toCheckedAnswer(context, context);
  const isJoined = answers.length > 1;
  const units = unitMismatches(answers, context.metrics);
  const columns = columnMismatches(answers, context);
  const totals = context.running ? [] : wrongTotals(checked, isJoined ? whole : undefined, context.undefinedTotals);
  const pairs = wrongPairs(checked);
  return {
    notes: [
      ...uniqueNotes(checked.flatMap(metaFindings)),
      ...rowFindings(checked, context),
      ...orderFindings(checked),
      ...runningFindings(answers),
      ...unitFindings(units),
      ...columnFindings(columns),
      ...figureFindings(checked),
      ...pairFindings(pairs),
      ...totalFindings(totals),
      ...additivityFindings(context),
    ],
    wrong: [
      ...[...units, ...columns].map(({ id }) => ({ metric: id, at: 'column' as const })),
      // Either the total or one of the rows is wrong; nobody can tell which.
      ...totals.flatMap(({ metric, previous }) => (previous ? [] : [{ metric, at: 'column' as const }])),
      ...invalidFigures(checked.filter((answer) => !isBefore(answer, whole))),
      ...pairs.flatMap(({ median, p90, at }) => [median, p90].map(({ id }) => ({ metric: id, at }))),
    ],
  };
}

/** Whether a part of a joined table belongs to the previous period. */
const isBefore = (part: ReturnType<typeof toCheckedAnswer>, { range }: ReturnType<typeof toCheckedAnswer>): boolean =>
  part.range !== undefined && range !== undefined && part.range.to < range.from;

/** Removes repeated notes. */
const uniqueNotes = (notes: readonly TableNote[]): TableNote[] => [
  ...new Map(notes.map((note) => [JSON.stringify(note.message), note])).values(),
];

/** A median above the 90th percentile of the same measure, in the same row or in the totals. */
interface WrongPair {
  readonly median: Metric;
  readonly p90: Metric;
  readonly bucket: string | null;
  readonly at: Exclude<WrongFigure['at'], 'column'>;
}

function wrongPairs(answers: readonly CheckedAnswer[]): WrongPair[] {
  return answers.flatMap((answer): WrongPair[] => {
    const { metrics, request, response } = answer;
    const pairs = metrics.flatMap((median) => {
      const p90 = metrics.find(
        ({ id, aggregation }) => aggregation === 'p90' && toMeasure(id) === toMeasure(median.id),
      );
      return median.aggregation === 'p50' && p90 !== undefined ? [{ median, p90 }] : [];
    });
    if (pairs.length === 0) return [];
    const exceed = (values: Readonly<Record<string, unknown>>) =>
      pairs.filter(({ median, p90 }) => {
        const [half, most] = [values[median.id], values[p90.id]];
        return typeof half === 'number' && typeof most === 'number' && half > most;
      });
    const inRows = response.rows.flatMap((row) => {
      const bucket = readBucket(answer, row) ?? null;
      return exceed(row).map((pair) => ({
        ...pair,
        bucket,
        at: { bucket, group: readGroup(row, request.dimensions) },
      }));
    });
    const inTotals = exceed(response.totals ?? {}).map((pair) => ({ ...pair, bucket: null, at: 'totals' as const }));
    return [...inRows, ...inTotals];
  });
}

function pairFindings(pairs: readonly WrongPair[]): TableNote[] {
  const [first] = pairs;
  if (first === undefined) return [];
  const { median, p90, bucket } = first;
  const of = { figures: pairs.length, label: median.label, other: p90.label, bucket };
  return [incompleteNote('invalid_value', { id: 'median_above_p90', of })];
}

const rangeIn = (reported: DateRange | null | undefined): DateRange | null =>
  reported == null ? null : { from: reported.from, to: reported.to };

/** Checks `meta` against the request: range, zone, granularity, previous period, number of rows. */
function metaFindings({ request, response: { meta, rows }, range, granularity }: CheckedAnswer): TableNote[] {
  const found: TableNote[] = [];
  // The service may send the count under either name. If the two differ, rows are missing.
  for (const reported of [meta.row_count, meta.rows_count]) {
    // If the request's own `limit` truncated the table, the count may include the rows that were cut off.
    const beforeLimit =
      meta.truncated && request.limit !== undefined && typeof reported === 'number' && reported > rows.length;
    if (typeof reported === 'number' && reported !== rows.length && !beforeLimit) {
      found.push(incompleteNote('missing', { id: 'other_count', of: { said: reported, sent: rows.length } }));
    }
  }
  const { timezone, compare } = request.time ?? {};
  if (range !== undefined && (meta.range?.from !== range.from || meta.range.to !== range.to)) {
    found.push(incompleteNote('missing', { id: 'other_range', of: { ...range, got: rangeIn(meta.range) } }));
  }
  if (timezone !== undefined && meta.timezone !== timezone) {
    found.push(
      incompleteNote('missing', { id: 'other_zone', of: { asked: timezone, got: truncateId(meta.timezone) } }),
    );
  }
  // A missing granularity is not a mismatch: the rows show it.
  if (meta.granularity !== undefined && meta.granularity !== (granularity ?? null)) {
    const got = meta.granularity === null ? null : truncateId(meta.granularity);
    found.push(
      incompleteNote('granularity_mismatch', { id: 'granularity_mismatch', of: { asked: granularity ?? null, got } }),
    );
  }
  const compared = rangeIn(meta.compare_range);
  if (compare !== undefined && compared === null) {
    found.push(incompleteNote('missing', { id: 'compared_days_unknown', of: undefined }));
  }
  const expected = range === undefined ? undefined : previousPeriod(range);
  if (expected !== undefined && compared !== null && (compared.from !== expected.from || compared.to !== expected.to)) {
    found.push(
      incompleteNote('compare_range_mismatch', { id: 'compare_range_mismatch', of: { expected, got: compared } }),
    );
  }
  return found;
}

/** Reports rows that are not in the requested order (default: by bucket, then by each dimension in turn). */
function orderFindings(answers: readonly CheckedAnswer[]): TableNote[] {
  return answers.every(isOrdered) ? [] : [incompleteNote('order_mismatch', { id: 'order_mismatch', of: undefined })];
}

function isOrdered({ request, response, granularity }: CheckedAnswer): boolean {
  const dimensions = request.dimensions ?? [];
  const { order = [] } = request;
  const defaultKeys = [...(granularity === undefined ? [] : ['bucket']), ...dimensions];
  const keys: readonly Order[] = order.length > 0 ? order : defaultKeys.map((by) => ({ by, dir: 'asc' }));
  return follows(response.rows, keys, new Set(dimensions));
}

/**
 * Whether rows are sorted by these keys. The specification does not define the position of ties and of null, so rows
 * without the key are skipped. It does not define the order of a dimension's values either, so all rows of one value
 * only have to be adjacent.
 */
function follows(rows: readonly ReportRow[], keys: readonly Order[], dimensions: ReadonlySet<string>): boolean {
  const [key, ...rest] = keys;
  if (key === undefined || rows.length < 2) return true;
  const { by, dir } = key;
  const runs: { readonly value: unknown; readonly rows: ReportRow[] }[] = [];
  for (const row of rows) {
    const value = row[by];
    if (value === null || value === undefined) continue;
    const run = runs.at(-1);
    if (run !== undefined && run.value === value) run.rows.push(row);
    else runs.push({ value, rows: [row] });
  }
  const inOrder = dimensions.has(by)
    ? new Set(runs.map(({ value }) => value)).size === runs.length
    : runs.every(({ value }, index) => {
        const before = runs[index - 1]?.value;
        return before === undefined || isSorted(before, value, dir);
      });
  return inOrder && runs.every((run) => follows(run.rows, rest, dimensions));
}

/** Compares two numbers or two bucket dates; true for anything else. */
function isSorted(before: unknown, value: unknown, dir: Order['dir']): boolean {
  if (typeof before === 'number' && typeof value === 'number') return dir === 'asc' ? before <= value : before >= value;
  if (typeof before === 'string' && typeof value === 'string') return dir === 'asc' ? before <= value : before >= value;
  return true;
}
