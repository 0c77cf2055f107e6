import type { BaseSettings } from '../../contract/bases.ts';
import type { Catalog } from '../../contract/catalog.ts';
import type { OrgRef } from '../../contract/organization.ts';
import type { Call, Join } from '../plan.ts';
import { buildCalls, type RequestCalls } from './build-calls.ts';
import type { CallLimits } from './call.ts';
import type { KeyedRequest } from './merge-requests.ts';
import { isAnsweredBySection, type PartnerRequest } from './partner-requests.ts';
import type { SectionRequest } from './section-requests.ts';
import { shareTotals } from './share-totals.ts';
import { shareTrends } from './share-trends.ts';

export interface PlannedCalls {
  readonly calls: readonly [Call, ...Call[]];
  readonly join?: Join;
  readonly baseJoin?: Join;
}

/** The calls of all sections and of their partners, by section id. */
export interface PlannedRequests {
  own(section: string): PlannedCalls;
  partners(section: string): readonly (PartnerRequest & { readonly calls: PlannedCalls })[];
}

const ownKey = (section: string): string => `section ${section}`;
const partnerKey = (section: string, { kind, of }: PartnerRequest): string => `${kind} ${of} of ${section}`;

/**
 * The calls of all sections: the fewest of several plans, which read totals beside the rows of another request over the
 * same days, trends from a longer request, or both.
 * @param bases adds the bases of ratios and durations, with these settings; undefined: none
 */
export function planRequests(
  sections: readonly SectionRequest[],
  org: OrgRef,
  catalog: Catalog,
  limits: CallLimits,
  bases?: BaseSettings,
): PlannedRequests {
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
  const candidates = [keyed, withTrends].flatMap((requests) => [requests, shareTotals(requests, catalog, limits)]);
  const best = [...new Set(candidates)]
    .map((requests) => ({ requests, calls: buildCalls(requests, org, catalog, limits) }))
    .reduce((least, plan) => (callCount(plan.calls) < callCount(least.calls) ? plan : least));
  const requestOf = new Map(best.requests.map(({ key, request }) => [key, request]));
  const based = bases === undefined ? best.calls : buildCalls(best.requests, org, catalog, limits, bases);
  const callsOf = (key: string): RequestCalls => based.get(key) ?? unplanned(key);
  const bySection = new Map(sections.map((one) => [one.section.id, one]));
  return {
    own: (section) => callsOf(ownKey(section)),
    partners: (section) => {
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
