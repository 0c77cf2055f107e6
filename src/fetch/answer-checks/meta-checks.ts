import { type DateRange, previousPeriod } from '../../plan/buckets.ts';
import { truncateId } from '../client/untrusted-input.ts';
import type { TableNote } from '../notes.ts';
import { type CheckedAnswer, incompleteNote } from './checked-answer.ts';

const rangeIn = (reported: DateRange | null | undefined): DateRange | null =>
  reported == null ? null : { from: reported.from, to: reported.to };

/** Checks `meta` against the request: range, zone, granularity, previous period, number of rows. */
export function metaFindings({ request, response: { meta, rows }, range, granularity }: CheckedAnswer): TableNote[] {
  const found: TableNote[] = [];
  // Both spellings of the count: if they differ, one of them reports missing rows.
  for (const reported of [meta.row_count, meta.rows_count]) {
    // For a table truncated by its own limit it may be the number of all rows.
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
  // A missing granularity is no mismatch: the rows show it.
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
