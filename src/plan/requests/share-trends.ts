import type { ReportRequest } from '../../contract/report.ts';
import { bucketsOf } from '../buckets.ts';
import { type CallLimits, canonicalJson } from './call.ts';
import type { KeyedRequest } from './merge-requests.ts';
import { requestRange } from './partition.ts';

/**
 * Turns requests for trends into requests for all days of another request that has their buckets: `mergeRequests` then
 * answers both with one call. The other one may cover more days, and may be compared. Returns the same list if no
 * request qualifies.
 */
export function shareTrends(requests: readonly KeyedRequest[], limits: CallLimits): readonly KeyedRequest[] {
  let changed = false;
  // A carrier takes the metrics of several trends; the longest one serves most of them.
  const carriers = requests
    .filter(({ request }) => isCarrier(request))
    .map((one) => ({ one, carries: one.request.metrics, buckets: bucketCount(one.request) }))
    .sort((a, b) => b.buckets - a.buckets);
  const shared = requests.map((one) => {
    if (one.trend !== true) return one;
    for (const carrier of carriers) {
      const { request } = carrier.one;
      const metrics = [...new Set([...carrier.carries, ...one.request.metrics])];
      if (carrier.one === one || metrics.length > limits.max_metrics || !covers(request, one.request)) continue;
      // Of two trends over the same days neither needs to change.
      if (canonicalJson(request.time) === canonicalJson(one.request.time)) return one;
      carrier.carries = metrics;
      changed = true;
      return { ...one, request: { ...one.request, ...(request.time === undefined ? {} : { time: request.time }) } };
    }
    return one;
  });
  return changed ? shared : requests;
}

/** Whether other metrics may be added to its call: its rows are one for each bucket, in order. */
const isCarrier = ({ dimensions, time, order, limit }: ReportRequest): boolean =>
  dimensions === undefined && time?.granularity !== undefined && order === undefined && limit === undefined;

function bucketCount(request: ReportRequest): number {
  const range = requestRange(request);
  return range === undefined ? 0 : bucketsOf(range, request.time?.granularity).length;
}

/** Whether every bucket of the trend is one of the carrier's, whole and with the same filters. */
function covers(carrier: ReportRequest, trend: ReportRequest): boolean {
  const [range, wanted] = [requestRange(carrier), requestRange(trend)];
  if (range === undefined || wanted === undefined) return false;
  const identity = ({ filters, time }: ReportRequest) => canonicalJson([filters, time?.granularity, time?.timezone]);
  if (identity(carrier) !== identity(trend)) return false;
  const buckets = new Set(bucketsOf(range, carrier.time?.granularity).map(canonicalJson));
  return bucketsOf(wanted, trend.time?.granularity).every((bucket) => buckets.has(canonicalJson(bucket)));
}
