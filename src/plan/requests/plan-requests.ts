import type { BaseSettings } from '../../contract/bases.ts';
import type { Catalog } from '../../contract/catalog.ts';
import type { OrgRef } from '../../contract/organization.ts';
import type { ReportRequest } from '../../contract/report.ts';
import { buildBuckets } from '../buckets.ts';
import type { Call, Join } from '../plan.ts';
import { buildCalls, type RequestCalls } from './build-calls.ts';
import { type CallLimits, canonicalJson } from './call.ts';
import type { KeyedRequest } from './merge-requests.ts';
import { requestRange } from './partition.ts';
import { isAnsweredBySection, type PartnerRequest } from './partner-requests.ts';
import type { SectionRequest } from './section-requests.ts';
import { shareTotals } from './share-totals.ts';

export interface PlannedCalls {
  readonly calls: readonly [Call, ...Call[]];
  readonly join?: Join;
  readonly baseJoin?: Join;
}

/** The calls of all sections and of their partners, by section id. */
export type PlannedRequests = ReturnType<typeof planRequests>;

const ownKey = (section: string): string => `section ${section}`;
const partnerKey = (section: string, { kind, of }: PartnerRequest): string => `${kind} ${of} of ${section}`;

/**
 * The calls of all sections: the plan with the fewest calls of several. The plans differ in whether totals are read
 * together with the rows of another request for the same days, and trends from a longer request.
 * @param bases adds the bases of ratios and durations, with these settings; undefined: none
 */
export function planRequests(
  sections: readonly SectionRequest[],
  org: OrgRef,
  catalog: Catalog,
  limits: CallLimits,
  bases?: BaseSettings,
) {
  const answered = (one: SectionRequest, partner: PartnerRequest): boolean =>
    one.request !== undefined && isAnsweredBySection(partner, one.request);
  const keyed = sections.flatMap((one): KeyedRequest[] => {
    const { section, request, partners } = one;
    if (request === undefined) return [];
    return [
      { key: ownKey(section.id), request },
      ...partners
        .filter((partner) => !answered(one, partner))
        .map((partner) => ({
          key: partnerKey(section.id, partner),
          request: partner.request,
          lookup: true,
          ...(partner.kind === 'trend' ? { trend: true } : {}),
        })),
    ];
  });
  const withTrends = shareTrends(keyed, limits);
  const candidates = new Set(
    [keyed, withTrends].flatMap((requests) => [requests, shareTotals(requests, catalog, limits)]),
  );
  // With one candidate there is nothing to count.
  const best =
    candidates.size === 1
      ? keyed
      : [...candidates]
          .map((requests) => ({ requests, count: callCount(buildCalls(requests, org, catalog, limits)) }))
          .reduce((least, plan) => (plan.count < least.count ? plan : least)).requests;
  const requestOf = new Map(best.map(({ key, request }) => [key, request]));
  const based = buildCalls(best, org, catalog, limits, bases);
  const callsOf = (key: string): RequestCalls => based.get(key) ?? unplanned(key);
  const bySection = new Map(sections.map((one) => [one.section.id, one]));
  return {
    own: (section: string): PlannedCalls => callsOf(ownKey(section)),
    partners: (section: string): readonly (PartnerRequest & { readonly calls: PlannedCalls })[] => {
      const one = bySection.get(section);
      return (one?.partners ?? []).map((partner) => {
        const isOwn = one !== undefined && answered(one, partner);
        const key = isOwn ? ownKey(section) : partnerKey(section, partner);
        return { ...partner, request: requestOf.get(key) ?? unplanned(key), calls: callsOf(key) };
      });
    },
  };
}

const callCount = (calls: ReadonlyMap<string, RequestCalls>): number =>
  new Set([...calls.values()].flatMap((one) => one.calls.map(({ id }) => id))).size;

function unplanned(key: string): never {
  throw new Error(`no calls for ${key}`);
}

/**
 * Changes requests for trends to all days of another request that has their buckets, so that `mergeRequests` makes one
 * call for both. The other request may cover more days, and may have a comparison. Returns the same list if no request
 * qualifies.
 */
function shareTrends(requests: readonly KeyedRequest[], limits: CallLimits): readonly KeyedRequest[] {
  let changed = false;
  // The other request ("carrier") takes the metrics of several trends. The longest one suits most of them.
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
      // If two trends have the same days, neither has to change.
      if (canonicalJson(request.time) === canonicalJson(one.request.time)) return one;
      carrier.carries = metrics;
      changed = true;
      return { ...one, request: { ...one.request, ...(request.time === undefined ? {} : { time: request.time }) } };
    }
    return one;
  });
  return changed ? shared : requests;
}

/** Whether other metrics can be added to its call: it has one row for each bucket, in order. */
const isCarrier = ({ dimensions, time, order, limit }: ReportRequest): boolean =>
  dimensions === undefined && time?.granularity !== undefined && order === undefined && limit === undefined;

function bucketCount(request: ReportRequest): number {
  const range = requestRange(request);
  return range === undefined ? 0 : buildBuckets(range, request.time?.granularity).length;
}

/** Whether every bucket of the trend is a whole bucket of the carrier, with the same filters. */
function covers(carrier: ReportRequest, trend: ReportRequest): boolean {
  const [range, wanted] = [requestRange(carrier), requestRange(trend)];
  if (range === undefined || wanted === undefined) return false;
  const identity = ({ filters, time }: ReportRequest) => canonicalJson([filters, time?.granularity, time?.timezone]);
  if (identity(carrier) !== identity(trend)) return false;
  const buckets = new Set(buildBuckets(range, carrier.time?.granularity).map(canonicalJson));
  return buildBuckets(wanted, trend.time?.granularity).every((bucket) => buckets.has(canonicalJson(bucket)));
}
