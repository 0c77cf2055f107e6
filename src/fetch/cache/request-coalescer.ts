import { DateTime } from 'luxon';
import type { Clock } from '../../base/clock.ts';
import { LIMITS } from '../../contract/limits.ts';
import type { ReportResponse } from '../../contract/report.ts';
import type { Plan, ReportCall } from '../../plan/plan.ts';
import type { ComplianceClient } from '../client/compliance-client.ts';
import type { CoalescedLookup, RequestCoalescer } from '../rate-limit/rate-limited-call.ts';
import {
  type CachedResponse,
  type CacheLookup,
  cacheKeyOf,
  type FreshnessRequirement,
  type RequestClaim,
  type ResponseCache,
} from './response-cache.ts';

/**
 * Coalesces one call of a run with identical calls of other runs, as `max_age` of its definition allows; undefined if that
 * is 0. A response is never used past midnight in the zone of the request, when buckets close, nor for longer than the
 * report that requested it allows.
 */
export function requestCoalescer(
  call: ReportCall,
  context: {
    readonly responseCache: ResponseCache;
    readonly client: Pick<ComplianceClient, 'service'>;
    readonly clock: Clock;
    readonly key: string;
    readonly run: string;
    readonly plan: Plan;
  },
): RequestCoalescer<CachedResponse> | undefined {
  const { responseCache, client, clock, key, run, plan } = context;
  const maxAgeMs = plan.definition.max_age * 1000;
  if (maxAgeMs === 0) return undefined;
  const { org: tenant, registryVersion } = plan;
  const cacheKey = cacheKeyOf(call, { tenant, service: client.service, key, registryVersion });
  const since = clock.now();
  const holder = `${run}:${call.id}`;
  const zone = call.request.time?.timezone ?? 'UTC';
  let claimed: { readonly claim: RequestClaim; readonly at: number } | undefined;

  const requirement = (): FreshnessRequirement => {
    const now = clock.now();
    const today = now - DateTime.fromMillis(now, { zone }).startOf('day').toMillis();
    return { maxAgeMs: Math.min(maxAgeMs, today), waitingMs: Math.min(now - since, today), holder };
  };
  const toResult = (found: CacheLookup): CoalescedLookup<CachedResponse> =>
    found.kind === 'hit' ? { kind: 'hit', value: found.response } : found;

  return {
    lookup: async () => toResult(await responseCache.lookup(cacheKey, requirement())),
    claim: async (ttlMs) => {
      const found = await responseCache.claim(cacheKey, requirement(), ttlMs);
      if (found.kind !== 'claimed') return toResult(found);
      claimed = { claim: found.claim, at: clock.now() };
      return { kind: 'miss' };
    },
    put: async (response) => {
      if (claimed === undefined) return;
      const { claim, at } = claimed;
      claimed = undefined;
      await responseCache.put(cacheKey, claim, response, ageAtClaimMs(response.body.meta, at), maxAgeMs);
    },
    release: async () => {
      if (claimed === undefined) return;
      const { claim } = claimed;
      claimed = undefined;
      await responseCache.release(cacheKey, claim);
    },
  };
}

/** Age (ms) of a response when its request was claimed: above 0 only if the service had cached it (specification §4, rule 5). */
function ageAtClaimMs({ as_of, cached }: ReportResponse['meta'], claimedAt: number): number {
  if (!cached) return 0;
  const computed = as_of === null ? Number.NaN : Date.parse(as_of);
  return Number.isNaN(computed) ? LIMITS.report_cache_seconds * 1000 : Math.max(0, claimedAt - computed);
}
