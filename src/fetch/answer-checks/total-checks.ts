import { isAdditive, isCurrentCount, isWronglyAdditive, type Metric } from '../../contract/catalog.ts';
import type { ReportRow } from '../../contract/report.ts';
import type { NoteParams } from '../../words/note.ts';
import type { TableNote } from '../dataset.ts';
import { type CheckContext, type Checked, finding } from './answer.ts';

type WrongTotal = NoteParams['total_mismatch']['totals'][number];

/**
 * Totals of additive counts that are not the sum of their rows, where all rows are there: of each call, and of the table
 * that they were joined to, whose totals may be a call of their own and know of rows that no part has brought. Not while
 * the range is running: rows and totals may be counted one after the other.
 */
export function totalFindings(answers: readonly Checked[], joined: Checked | undefined): TableNote[] {
  const ofCalls = answers.flatMap(wrongTotals);
  const totals = ofCalls.length > 0 || joined === undefined ? ofCalls : wrongTotals(comparable(joined));
  return totals.length === 0 ? [] : [finding('total_mismatch', { id: 'total_mismatch', of: { totals } })];
}

/** Calls are answered one after the other: what is counted now may differ between them. */
const comparable = (joined: Checked): Checked => ({
  ...joined,
  metrics: joined.metrics.filter((metric) => !isCurrentCount(metric)),
});

function wrongTotals({ request, response, metrics, buckets, previous }: Checked): WrongTotal[] {
  const { totals, rows, meta } = response;
  if (totals == null || meta.truncated) return [];
  const additive = metrics.filter(isAdditive);
  const now = additive.flatMap((metric) => wrongTotal(metric, totals, rows, false));
  // Only where each bucket of the period before stands beside a row. Groups that it alone has may have none.
  const matched = (request.dimensions ?? []).length === 0 && previous?.buckets === buckets.length;
  const compared = totals.compare;
  if (!matched || compared == null) return now;
  const before = rows.map(({ compare }) => compare ?? {});
  return [...now, ...additive.flatMap((metric) => wrongTotal(metric, compared, before, true))];
}

function wrongTotal(
  { id, label }: Metric,
  totals: Readonly<Record<string, unknown>>,
  rows: readonly (ReportRow | Readonly<Record<string, unknown>>)[],
  previous: boolean,
): WrongTotal[] {
  const total = totals[id];
  let sum = 0;
  for (const row of rows) {
    const value = row[id];
    // What is not there is told elsewhere, and leaves nothing to compare.
    if (typeof value !== 'number') return [];
    sum += value;
  }
  return typeof total !== 'number' || total === sum ? [] : [{ label, total, sum, previous }];
}

/** Metrics that the catalog calls additive and that cannot be. */
export function additivityFindings({ metrics }: CheckContext): TableNote[] {
  const labels = metrics.filter(isWronglyAdditive).map(({ label }) => label);
  return labels.length === 0 ? [] : [finding('not_additive', { id: 'not_additive', of: { labels } })];
}
