import { type BaseSettings, metricBases } from '../../contract/bases.ts';
import type { Catalog } from '../../contract/catalog.ts';
import type { OrgRef } from '../../contract/organization.ts';
import type { ReportRequest } from '../../contract/report.ts';
import { buildBuckets, previousPeriod } from '../buckets.ts';
import type { Join, JoinPart, ReportCall } from '../plan.ts';
import { addBases, type BasedBody, joinBases } from './add-bases.ts';
import { type CallLimits, canonicalJson, reportCall } from './call.ts';
import { type KeyedRequest, mergeRequests } from './merge-requests.ts';
import { requestRange } from './partition.ts';
import { type RequestSplit, type SubRequest, splitRequest } from './split-request.ts';

/** The calls for a request, and how their responses are joined if there are several. */
export interface RequestCalls {
  readonly calls: readonly [ReportCall, ...ReportCall[]];
  readonly join?: Join;
  readonly baseJoin?: Join;
}

/**
 * Splits a request with more metrics than a call allows. Order and limit then apply to the joined table, because no
 * part has all metrics.
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
 * The calls for every request, by its key. Requests are merged before they are split, so that sections with the same
 * long period also share its parts. The parts are then merged again, with those of other requests. All requests must
 * have passed `checkSplit`.
 * @param bases adds the bases of ratios and durations, with these settings; undefined: none
 */
export function buildCalls(
  requests: readonly KeyedRequest[],
  org: OrgRef,
  catalog: Catalog,
  limits: CallLimits,
  bases?: BaseSettings,
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
  const split = keyed.map(({ key, request, parts }) => ({
    key,
    request,
    splits: parts.map((part) => ({
      part: part.request,
      lookup: part.lookup,
      split: requireSplit(merged.get(part.key), catalog, limits),
    })),
  }));
  const plain = mergeParts(
    split.flatMap(({ splits }) => splits),
    limits,
  );
  const bodies =
    bases === undefined
      ? new Map([...plain].map(([key, request]) => [key, { request }] as const))
      : addBases(plain, catalog, limits, bases);
  const collectBases = ({ metrics }: ReportRequest): string[] =>
    bases === undefined ? [] : metricBases(metrics, catalog, bases).map(({ base }) => base);
  return new Map(
    split.map(({ key, request, splits }) => [
      key,
      requestCalls(key, request, splits, bodies, org, collectBases(request)),
    ]),
  );
}

interface SplitPart {
  readonly part: ReportRequest;
  readonly lookup: boolean;
  readonly split: RequestSplit;
}

const partKey = (request: ReportRequest, lookup: boolean): string => `${lookup} ${canonicalJson(request)}`;

/** The bodies of all parts, by `partKey`. */
function mergeParts(splits: readonly SplitPart[], limits: CallLimits): ReadonlyMap<string, ReportRequest> {
  const parts = new Map(
    splits.flatMap(({ lookup, split }) =>
      split.requests.map(({ request }) => {
        const key = partKey(request, lookup);
        return [key, { key, request, lookup }] as const;
      }),
    ),
  );
  return mergeRequests([...parts.values()], limits.max_metrics);
}

function requireSplit(request: ReportRequest | undefined, catalog: Catalog, limits: CallLimits): RequestSplit {
  const split = request === undefined ? undefined : splitRequest(request, catalog, limits);
  if (split === undefined || 'refused' in split) throw new Error('unsplittable request in buildCalls');
  return split;
}

function requestCalls(
  key: string,
  request: ReportRequest,
  splits: readonly SplitPart[],
  bodies: ReadonlyMap<string, BasedBody>,
  org: OrgRef,
  bases: readonly string[],
): RequestCalls {
  const withTotals = request.include !== undefined;
  const buildCall = (subRequest: SubRequest, lookup: boolean): ReportCall => {
    const body = bodies.get(partKey(subRequest.request, lookup)) ?? subRequest;
    return reportCall(org, body.request, 'bases' in body ? body.bases : undefined);
  };
  const subRequests = splits.flatMap(({ part, lookup, split }) =>
    split.requests.flatMap((subRequest) => {
      // A merged call may also have metrics of other requests.
      const ownMetrics = (ids: readonly string[]) => ids.filter((id) => part.metrics.includes(id));
      const totals = withTotals ? ownMetrics(subRequest.totals) : [];
      return subRequest.rows || totals.length > 0
        ? [
            {
              subRequest,
              call: buildCall(subRequest, lookup),
              metrics: subRequest.rows ? ownMetrics(part.metrics) : [],
              totals,
            },
          ]
        : [];
    }),
  );
  const [first, ...more] = subRequests.map(({ call }) => call);
  if (first === undefined) throw new Error(`no calls for ${key}`);
  if (more.length === 0) return { calls: [first] };
  const { granularity, compare } = request.time ?? {};
  const range = requestRange(request);
  const previous = range !== undefined && compare !== undefined ? previousPeriod(range) : undefined;
  const undefinedTotals = withTotals ? splits.flatMap(({ split }) => split.undefinedTotals ?? []) : [];
  const [why] = undefinedTotals;
  const missingTotals = request.metrics.filter((id) => undefinedTotals.some(({ metrics }) => metrics.includes(id)));
  const join: Join = {
    request,
    buckets: range === undefined ? [{ label: '', from: '', to: '' }] : buildBuckets(range, granularity),
    ...(previous === undefined ? {} : { previous: { ...previous, buckets: buildBuckets(previous, granularity) } }),
    parts: subRequests.map(
      ({ subRequest, call, metrics, totals }): JoinPart => ({
        call: call.id,
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
  const baseJoin = joinBases(
    join,
    splits.map(({ split, lookup }) => ({ split, callOf: (subRequest: SubRequest) => buildCall(subRequest, lookup) })),
    bases,
  );
  return { calls: [first, ...more], join, ...(baseJoin === undefined ? {} : { baseJoin }) };
}
