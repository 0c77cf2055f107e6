import { isAdditive, isCurrentCount, isWronglyAdditive, type Metric } from '../../contract/catalog.ts';
import type { ReportRow } from '../../contract/report.ts';
import type { NoteParams } from '../../i18n/note.ts';
import type { TableNote } from '../notes.ts';
import { type CheckContext, type CheckedAnswer, incompleteNote } from './checked-answer.ts';

type WrongTotal = NoteParams['total_mismatch']['totals'][number];

/**
 * Totals of additive counts that are not the sum of their rows, if all rows are present: of each call, and of the joined
 * table, whose totals may come from a separate call. Not while the range is running: the service may count rows and totals
 * at different times.
 */
export function totalFindings(answers: readonly CheckedAnswer[], joined: CheckedAnswer | undefined): TableNote[] {
  const ofCalls = answers.flatMap(wrongTotals);
  const totals = ofCalls.length > 0 || joined === undefined ? ofCalls : wrongTotals(comparable(joined));
  return totals.length === 0 ? [] : [incompleteNote('total_mismatch', { id: 'total_mismatch', of: { totals } })];
}

/** Without current counts, which may differ between calls. */
const comparable = (joined: CheckedAnswer): CheckedAnswer => ({
  ...joined,
  metrics: joined.metrics.filter((metric) => !isCurrentCount(metric)),
});

function wrongTotals({ request, response, metrics, buckets, previous }: CheckedAnswer): WrongTotal[] {
  const { totals, rows, meta } = response;
  if (totals == null || meta.truncated) return [];
  const additive = metrics.filter(isAdditive);
  const now = additive.flatMap((metric) => wrongTotal(metric, totals, rows, false));
  // Only if each bucket of the previous period has a row. Groups of the previous period alone may have none.
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
    // Missing values are reported elsewhere.
    if (typeof value !== 'number') return [];
    sum += value;
  }
  return typeof total !== 'number' || total === sum ? [] : [{ label, total, sum, previous }];
}

/** Metrics that are additive in the catalog but cannot be. */
export function additivityFindings({ metrics }: CheckContext): TableNote[] {
  const labels = metrics.filter(isWronglyAdditive).map(({ label }) => label);
  return labels.length === 0 ? [] : [incompleteNote('not_additive', { id: 'not_additive', of: { labels } })];
}
