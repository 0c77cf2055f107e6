import { DateTime } from 'luxon';
import type { Clock } from '../base/clock.ts';
import { done, type Outcome } from '../base/outcome.ts';
import { LIMITS } from '../contract/limits.ts';
import { PATHS } from '../contract/organization.ts';
import { type ReportResponse, reportResponseSchema } from '../contract/report.ts';
import type { Plan, ReportCall } from '../plan/plan.ts';
import { assertValueTypes } from './answer-checks/value-types.ts';
import { getPrepared } from './cache/prepared-responses.ts';
import {
  type CachedResponse,
  type CacheLookup,
  cacheKeyOf,
  type FreshnessRequirement,
  type RequestClaim,
  type ResponseCache,
} from './cache/response-cache.ts';
import type { ResponseStore } from './cache/response-store.ts';
import type { ComplianceClient } from './client/compliance-client.ts';
import type { FetchContext } from './fetch-context.ts';
import {
  type CoalescedLookup,
  type RateLimitContext,
  type RateLimitedCall,
  type RequestCoalescer,
  rateLimitedCall,
} from './rate-limit/rate-limited-call.ts';

export interface FetchedReport extends CachedResponse {
  /** Tokens left after the call took its own; null if it took none (stored, or another run's response). */
  readonly tokens: number | null;
  /** From dispatch to response; null if no request was made. */
  readonly ms: number | null;
  /** Epoch ms at which the response was received before the slot; absent for a call of the run itself. */
  readonly preparedAt?: number;
}

/** Calls that are made before the slot queue separately from those of the run itself. */
const waiterId = (run: string, { id }: ReportCall, completeSince: number | undefined): string =>
  `${completeSince === undefined ? '' : 'prepare:'}${run}:${id}`;

/**
 * Returns the response to a report call: the one that the run stored, or one requested under the rate limit and then
 * stored.
 */
export async function fetchReport(
  context: Pick<
    FetchContext,
    'client' | 'clock' | 'catalogs' | 'key' | 'run' | 'responseCache' | 'fresh' | 'prepared' | 'completeSince'
  > & {
    readonly plan: Plan;
    readonly responses: ResponseStore;
    readonly rateLimit: RateLimitContext;
  },
  call: ReportCall,
  options: Omit<RateLimitedCall<unknown>, 'id' | 'attempt'>,
): Promise<Outcome<FetchedReport>> {
  const { client, clock, catalogs, key, run, plan, responses, rateLimit, fresh, prepared, completeSince } = context;
  const stored = fresh ? undefined : await responses.get(run, call.id);
  const body = reportResponseSchema.safeParse(stored?.body);
  if (stored !== undefined && body.success) {
    return done({ ...stored, body: body.data, askedBy: stored.askedBy ?? run, tokens: null, ms: null });
  }
  const source = { service: client.service, key, registryVersion: plan.registryVersion };
  const early = prepared ? await getPrepared(responses, run, call.id, source) : undefined;
  if (early !== undefined) return done({ ...early, tokens: null, ms: null, preparedAt: early.at });
  let dispatchedAt = 0;
  const limitedCall: RateLimitedCall<CachedResponse> = {
    ...options,
    id: waiterId(run, call, completeSince),
    attempt: async () => {
      dispatchedAt = clock.now();
      const response = await client.report(call.org, call.request, options.signal);
      assertValueTypes(call.request, response.body, `POST ${PATHS.report(call.org)}`);
      return { ...response, at: clock.now(), askedBy: run };
    },
    save: (response) => responses.put(run, call.id, response),
  };
  const result = await rateLimitedCall(rateLimit, limitedCall, requestCoalescer(call, context));
  if (result.kind === 'fail' && result.error.code === 'api.refused') await catalogs.invalidate(key, call.org);
  if (result.kind !== 'done') return result;
  const { value: response, tokens } = result.value;
  if (tokens === null) await responses.put(run, call.id, response);
  const { registry_version } = response.body.meta;
  if (registry_version !== plan.registryVersion) await catalogs.invalidateStale(key, call.org, registry_version);
  return done({ ...response, tokens, ms: tokens === null ? null : response.at - dispatchedAt });
}

/**
 * Lets a call share the response to an identical call of another run, as far as the definition's `max_age` allows;
 * undefined if that is 0. A response is never used past midnight in the request's time zone, when buckets close, nor
 * for longer than the report that requested it allows.
 */
function requestCoalescer(
  call: ReportCall,
  context: {
    readonly responseCache: ResponseCache;
    readonly client: Pick<ComplianceClient, 'service'>;
    readonly clock: Clock;
    readonly key: string;
    readonly run: string;
    readonly plan: Plan;
    readonly completeSince?: number | undefined;
  },
): RequestCoalescer<CachedResponse> | undefined {
  const { responseCache, client, clock, key, run, plan, completeSince = Number.NEGATIVE_INFINITY } = context;
  const maxAgeMs = plan.definition.max_age * 1000;
  if (maxAgeMs === 0) return undefined;
  const { org: tenant, registryVersion } = plan;
  const cacheKey = cacheKeyOf(call, { tenant, service: client.service, key, registryVersion });
  const since = clock.now();
  const holder = waiterId(run, call, context.completeSince);
  const zone = call.request.time?.timezone ?? 'UTC';
  let claimed: { readonly claim: RequestClaim; readonly at: number } | undefined;

  const requirement = (): FreshnessRequirement => {
    const now = clock.now();
    const today = now - DateTime.fromMillis(now, { zone }).startOf('day').toMillis();
    const complete = now - completeSince;
    return { maxAgeMs: Math.min(maxAgeMs, today, complete), waitingMs: Math.min(now - since, today), holder };
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

/**
 * The age (ms) of a response when its request was claimed: above 0 only if the service had cached it (specification §4,
 * rule 5).
 */
function ageAtClaimMs({ as_of, cached }: ReportResponse['meta'], claimedAt: number): number {
  if (!cached) return 0;
  const computed = as_of === null ? Number.NaN : Date.parse(as_of);
  return Number.isNaN(computed) ? LIMITS.report_cache_seconds * 1000 : Math.max(0, claimedAt - computed);
}
