import type { ReportRequest, ReportResponse, ReportRow } from '../../contract/report.ts';
import { buildBuckets, endOfDay, lastDayOfBucket } from '../../plan/buckets.ts';
import { requestRange } from '../../plan/requests/partition.ts';
import type { TableNote } from '../notes.ts';
import { type CallAnswer, incompleteNote } from './checked-answer.ts';

/** When a bucket of a request ends. */
interface BucketEnd {
  /** The first instant after its last day inside the range, epoch ms. */
  readonly at: number;
  /** The range ends before the bucket does. */
  readonly clipped: boolean;
}

/**
 * Looks up when the bucket of a row ends. Undefined if the bucket was not requested, and for requests without a range.
 */
function bucketEnds(request: ReportRequest): (row: ReportRow) => BucketEnd | undefined {
  const range = requestRange(request);
  if (range === undefined) return () => undefined;
  const { granularity, timezone } = request.time ?? {};
  const ends = new Map(
    buildBuckets(range, granularity).map(({ label, to }) => [
      granularity === undefined ? null : label,
      { at: endOfDay(to, timezone), clipped: granularity !== undefined && to < lastDayOfBucket(label, granularity) },
    ]),
  );
  return ({ bucket }) => ends.get(granularity === undefined ? null : (bucket ?? ''));
}

/** When the service computed a response: never later than we received it, whatever the service's clock says. */
const computedAt = ({ response: { meta }, at }: Pick<CallAnswer, 'response' | 'at'>): number =>
  Math.min(meta.as_of === null ? at : Date.parse(meta.as_of), at);

/**
 * Sets `partial` from the dates: a bucket is running if it was computed before its own end and before the end of the
 * range. Without `as_of`, the service's `partial` counts as well. Current counts have no days and are never running.
 */
export function withRunningRows({ request, response, at }: CallAnswer): ReportResponse {
  const endOf = bucketEnds(request);
  const computed = computedAt({ response, at });
  const hasRange = requestRange(request) !== undefined;
  let changed = false;
  const rows = response.rows.map((row) => {
    const end = endOf(row);
    const said = row.partial === true;
    const partial = end === undefined ? hasRange && said : computed < end.at || (said && response.meta.as_of === null);
    if (partial === row.partial) return row;
    changed = true;
    return { ...row, partial };
  });
  return changed ? { ...response, rows } : response;
}

/**
 * Reports rows whose `partial` contradicts `as_of` (specification §2.8): running but not marked, or ended but marked.
 * For a bucket that the range cuts off, and whose days inside the range have ended, both values are right.
 */
export function runningFindings(answers: readonly CallAnswer[]): TableNote[] {
  const wrong = answers.flatMap((answer) => {
    const { request, response } = answer;
    const { as_of } = response.meta;
    if (as_of === null) return [];
    const endOf = bucketEnds(request);
    const computed = computedAt(answer);
    return response.rows.flatMap(({ bucket = null, partial, ...row }) => {
      const end = endOf({ ...row, bucket });
      if (end === undefined) return [];
      // The service's clock may be a little ahead of ours.
      if (partial !== true) return Date.parse(as_of) < end.at ? [{ bucket, running: true }] : [];
      return computed >= end.at && !end.clipped ? [{ bucket, running: false }] : [];
    });
  });
  const [first] = wrong;
  if (first === undefined) return [];
  return [incompleteNote('partial', { id: 'partial_mismatch', of: { rows: wrong.length, ...first } })];
}
