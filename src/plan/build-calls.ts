import type { Catalog } from '../contract/catalog.ts';
import type { OrgRef } from '../contract/organization.ts';
import type { ReportRequest } from '../contract/report.ts';
import { bucketsOf, previousPeriod } from './buckets.ts';
import { type CallLimits, reportCall } from './call.ts';
import { type KeyedRequest, mergeRequests } from './merge-requests.ts';
import type { Join, JoinPart, ReportCall } from './plan.ts';
import { type RequestSplit, splitRequest } from './split-request.ts';

/** The calls of a request, and how their responses are joined if there are several. */
export interface RequestCalls {
  readonly calls: readonly [ReportCall, ...ReportCall[]];
  readonly join?: Join;
}

/**
 * Splits a request with more metrics than a call allows. Order and limit then apply to the joined table, because no part
 * has the metrics of another.
 */
export function splitMetrics(request: ReportRequest, maxMetrics: number): ReportRequest[] {
  const { metrics } = request;
  if (metrics.length <= maxMetrics) return [request];
  const { order: _order, limit: _limit, ...body } = request;
  return Array.from({ length: Math.ceil(metrics.length / maxMetrics) }, (_, index) => ({
    ...body,
    metrics: metrics.slice(index * maxMetrics, (index + 1) * maxMetrics),
  }));
}

/**
 * The calls of every request, by its key. Requests are merged before they are split, so that sections over one long period
 * share its parts as well. Requires requests that `checkSplit` accepts.
 */
export function buildCalls(
  requests: readonly KeyedRequest[],
  org: OrgRef,
  catalog: Catalog,
  limits: CallLimits,
): ReadonlyMap<string, RequestCalls> {
  const keyed = requests.map(({ key, request, lookup = false }) => ({
    key,
    request,
    parts: splitMetrics(request, limits.max_metrics).map((part, index) => ({
      key: `${index} of ${key}`,
      request: part,
      lookup,
    })),
  }));
  const merged = mergeRequests(
    keyed.flatMap(({ parts }) => parts),
    limits.max_metrics,
  );
  return new Map(
    keyed.map(({ key, request, parts }) => {
      const splits = parts.map((part) => ({
        part: part.request,
        split: requireSplit(merged.get(part.key), catalog, limits),
      }));
      return [key, requestCalls(key, request, splits, org)];
    }),
  );
}

function requireSplit(request: ReportRequest | undefined, catalog: Catalog, limits: CallLimits): RequestSplit {
  const split = request === undefined ? undefined : splitRequest(request, catalog, limits);
  if (split === undefined || 'refused' in split) throw new Error('unsplittable request in buildCalls');
  return split;
}

function requestCalls(
  key: string,
  request: ReportRequest,
  splits: readonly { readonly part: ReportRequest; readonly split: RequestSplit }[],
  org: OrgRef,
): RequestCalls {
  const withTotals = request.include !== undefined;
  const subRequests = splits.flatMap(({ part, split }) =>
    split.requests.flatMap((subRequest) => {
      // A merged call may have metrics of other requests.
      const ownMetrics = (ids: readonly string[]) => ids.filter((id) => part.metrics.includes(id));
      const totals = withTotals ? ownMetrics(subRequest.totals) : [];
      return subRequest.rows || totals.length > 0
        ? [{ subRequest, metrics: subRequest.rows ? ownMetrics(part.metrics) : [], totals }]
        : [];
    }),
  );
  const [first, ...more] = subRequests.map(({ subRequest }) => reportCall(org, subRequest.request));
  if (first === undefined) throw new Error(`no calls for ${key}`);
  if (more.length === 0) return { calls: [first] };
  const { from, to, granularity, compare } = request.time ?? {};
  const range = from === undefined || to === undefined ? undefined : { from, to };
  const previous = range !== undefined && compare !== undefined ? previousPeriod(range) : undefined;
  const undefinedTotals = withTotals ? splits.flatMap(({ split }) => split.undefinedTotals ?? []) : [];
  const [why] = undefinedTotals;
  const missingTotals = request.metrics.filter((id) => undefinedTotals.some(({ metrics }) => metrics.includes(id)));
  const join: Join = {
    request,
    buckets: range === undefined ? [{ label: '', from: '', to: '' }] : bucketsOf(range, granularity),
    ...(previous === undefined ? {} : { previous: { ...previous, buckets: bucketsOf(previous, granularity) } }),
    parts: subRequests.map(
      ({ subRequest, metrics, totals }): JoinPart => ({
        call: reportCall(org, subRequest.request).id,
        period: subRequest.period,
        first: subRequest.first,
        buckets: subRequest.buckets,
        metrics,
        totals,
      }),
    ),
    sums: splits.some(({ split }) => split.sums),
    ...(why === undefined || missingTotals.length === 0
      ? {}
      : { undefinedTotals: { metrics: missingTotals, why: why.why } }),
  };
  return { calls: [first, ...more], join };
}
