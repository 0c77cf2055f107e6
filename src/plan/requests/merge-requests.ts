import { LIMITS } from '../../contract/limits.ts';
import type { ReportRequest } from '../../contract/report.ts';
import { canonicalJson } from './call.ts';

/** The request of a section, or of a part of one. */
export interface KeyedRequest {
  readonly key: string;
  readonly request: ReportRequest;
  /** Its rows are looked up by bucket and group, so groups that other metrics add do no harm. */
  readonly lookup?: boolean;
  /** Its rows are buckets, so they may also be read from a response for more days, or with a comparison. */
  readonly trend?: boolean;
}

/**
 * Merges requests into the fewest bodies. Returns the body for each key.
 *
 * Merging adds metrics to a call; each section reads only its own columns. Requests are merged only if the other
 * metrics cannot add, remove or reorder rows:
 * - Without dimensions there is one row per bucket (empty ones are filled, specification §2.8), in the order of the
 *   buckets.
 * - With dimensions, or sorted by a metric, the metrics must be equal: a group exists if any metric has data for it, so
 *   other metrics could add groups. Requests whose rows are only looked up are merged with each other, whatever their
 *   metrics. Totals are per metric, so they do not affect sections without totals.
 */
export function mergeRequests(
  requests: readonly KeyedRequest[],
  maxMetrics: number = LIMITS.max_metrics,
): ReadonlyMap<string, ReportRequest> {
  const merged: { readonly key_: string; readonly keys: string[]; request: ReportRequest }[] = [];
  for (const { key, request, lookup = false } of requests) {
    const key_ = mergeKey(request, lookup);
    const match = merged.find((one) => one.key_ === key_ && mergedMetrics(one.request, request).length <= maxMetrics);
    if (match === undefined) {
      merged.push({ key_, keys: [key], request });
      continue;
    }
    match.keys.push(key);
    match.request = {
      ...match.request,
      metrics: mergedMetrics(match.request, request),
      ...(request.include === undefined ? {} : { include: request.include }),
    };
  }
  return new Map(merged.flatMap(({ keys, request }) => keys.map((key) => [key, request] as const)));
}

const mergedMetrics = (a: ReportRequest, b: ReportRequest): string[] => [...new Set([...a.metrics, ...b.metrics])];

/** Requests with equal keys can be merged. */
function mergeKey({ metrics, include: _include, ...rest }: ReportRequest, lookup: boolean): string {
  const byBucket = (rest.order ?? []).every(({ by }) => by === 'bucket');
  const rowsAreBuckets = rest.dimensions === undefined && byBucket;
  return canonicalJson(rowsAreBuckets || lookup ? rest : { ...rest, metrics: [...metrics].sort() });
}
