import type { Days } from '../../plan/buckets.ts';
import { previousPeriod } from '../../plan/buckets.ts';
import { clipName } from '../clip.ts';
import type { TableNote } from '../dataset.ts';
import { type Checked, finding } from './answer.ts';

const rangeIn = (said: Days | null | undefined): Days | null =>
  said == null ? null : { from: said.from, to: said.to };

/** `meta` against the request: another range, zone, granularity or previous period, another number of rows. */
export function metaFindings({ request, response: { meta, rows }, range, granularity }: Checked): TableNote[] {
  const found: TableNote[] = [];
  // Both spellings of the count: where they disagree, one of them says that rows are lacking.
  for (const said of [meta.row_count, meta.rows_count]) {
    // Of a table that its own limit cut, it may be the number of all rows.
    const beforeLimit = meta.truncated && request.limit !== undefined && typeof said === 'number' && said > rows.length;
    if (typeof said === 'number' && said !== rows.length && !beforeLimit) {
      found.push(finding('missing', { id: 'other_count', of: { said, sent: rows.length } }));
    }
  }
  const { timezone, compare } = request.time ?? {};
  if (range !== undefined && (meta.range?.from !== range.from || meta.range.to !== range.to)) {
    found.push(finding('missing', { id: 'other_range', of: { ...range, got: rangeIn(meta.range) } }));
  }
  if (timezone !== undefined && meta.timezone !== timezone) {
    found.push(finding('missing', { id: 'other_zone', of: { asked: timezone, got: clipName(meta.timezone) } }));
  }
  // One that is left out is no other: the rows say themselves by what they are.
  if (meta.granularity !== undefined && meta.granularity !== (granularity ?? null)) {
    const got = meta.granularity === null ? null : clipName(meta.granularity);
    found.push(
      finding('granularity_mismatch', { id: 'granularity_mismatch', of: { asked: granularity ?? null, got } }),
    );
  }
  const compared = rangeIn(meta.compare_range);
  if (compare !== undefined && compared === null) {
    found.push(finding('missing', { id: 'compared_days_unknown', of: undefined }));
  }
  const expected = range === undefined ? undefined : previousPeriod(range);
  if (expected !== undefined && compared !== null && (compared.from !== expected.from || compared.to !== expected.to)) {
    found.push(finding('compare_range_mismatch', { id: 'compare_range_mismatch', of: { expected, got: compared } }));
  }
  return found;
}
