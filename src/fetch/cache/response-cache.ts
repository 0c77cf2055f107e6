import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { ReportResponse } from '../../contract/report.ts';
import type { ReportCall } from '../../plan/plan.ts';
import { canonicalJson } from '../../plan/requests/call.ts';
import type { StoredResponse } from './response-store.ts';

/** A response that other runs may use. */
export interface CachedResponse extends StoredResponse {
  readonly body: ReportResponse;
  /** The run that made the request. */
  readonly askedBy: string;
}

/** A response is fresh enough if it was computed at most `maxAgeMs` ago, or requested at most `waitingMs` ago. */
export interface FreshnessRequirement {
  readonly maxAgeMs: number;
  /** For how long (ms) the run has needed the response: one requested since then is as good as its own. */
  readonly waitingMs: number;
  /**
   * Identifies the run's call. It stays the same when the run is resumed, so that the run may claim its own request
   * again.
   */
  readonly holder: string;
}

export type CacheLookup =
  | { readonly kind: 'hit'; readonly response: CachedResponse }
  /** Another run's request is in flight, for at most `forMs`. After that its worker is presumed dead. */
  | { readonly kind: 'in_flight'; readonly forMs: number }
  | { readonly kind: 'miss' };

/** The right to make a request, and when it was granted, on the store's clock (ms). */
export interface RequestClaim {
  readonly holder: string;
  readonly claimedAt: number;
}

/**
 * Responses that several runs may use, and the requests in flight: one at a time per cache key.
 *
 * The age of a response counts from its claim; if the service had computed it earlier, `ageAtClaimMs` is added. So a
 * response is never taken for fresher than it is, whatever the workers' clocks show and however long a worker was
 * frozen. Of two responses the one computed later is kept. Throws `redis.unreachable`.
 */
export interface ResponseCache {
  lookup(cacheKey: string, requirement: FreshnessRequirement): Promise<CacheLookup>;
  /**
   * Looks up the response. On a miss, the caller has claimed the request until it calls `put` or `release`, or for
   * `ttlMs`.
   */
  claim(
    cacheKey: string,
    requirement: FreshnessRequirement,
    ttlMs: number,
  ): Promise<CacheLookup | { readonly kind: 'claimed'; readonly claim: RequestClaim }>;
  /**
   * Stores the response to a claimed request, unless the cache of the API key is full.
   * @param ageAtClaimMs age of the response when the request was claimed
   */
  put(
    cacheKey: string,
    claim: RequestClaim,
    response: CachedResponse,
    ageAtClaimMs: number,
    ttlMs: number,
  ): Promise<void>;
  /** Removes the response, so that the next run makes the request again. */
  discard(cacheKey: string): Promise<void>;
  /** Gives up a claim without a response, so that another run may claim the request. */
  release(cacheKey: string, claim: RequestClaim): Promise<void>;
}

/** The fingerprint of the API key that a cache key begins with. */
export const apiKeyOfCacheKey = (cacheKey: string): string => cacheKey.split(':', 1)[0] ?? cacheKey;

/**
 * Identifies a request of one Docket organization (`tenant`) with one API key. Organizations never share responses,
 * even with the same key: their definitions decide what data each may see.
 */
export const cacheKeyOf = (
  { org, request }: Pick<ReportCall, 'org' | 'request'>,
  by: { readonly tenant: string; readonly service: string; readonly key: string; readonly registryVersion: number },
): string =>
  `${by.key}:${createHash('sha256')
    .update(canonicalJson([by.tenant, by.service, by.key, by.registryVersion, org, request]))
    .digest('hex')}`;

interface Entry {
  readonly response: CachedResponse;
  readonly computed: number;
  readonly requested: number;
  readonly until: number;
}

/** The response cache of one process. `response-cache-1.lua` is the same state machine: change them together. */
export function memoryResponseCache(clock: Clock): ResponseCache {
  const entries = new Map<string, Entry>();
  const flights = new Map<string, { readonly holder: string; readonly until: number }>();
  const lookup = (cacheKey: string, { maxAgeMs, waitingMs, holder }: FreshnessRequirement): CacheLookup => {
    const now = clock.now();
    const entry = entries.get(cacheKey);
    if (entry !== undefined && now <= entry.until && entry.requested <= now) {
      const { response, computed, requested } = entry;
      if (now - computed <= maxAgeMs || now - requested <= waitingMs) return { kind: 'hit', response };
    }
    const flight = flights.get(cacheKey);
    if (flight === undefined || flight.holder === holder || flight.until <= now) return { kind: 'miss' };
    return { kind: 'in_flight', forMs: flight.until - now };
  };
  const release = (cacheKey: string, holder: string): void => {
    if (flights.get(cacheKey)?.holder === holder) flights.delete(cacheKey);
  };
  return {
    lookup: async (cacheKey, requirement) => lookup(cacheKey, requirement),
    claim: async (cacheKey, requirement, ttlMs) => {
      const found = lookup(cacheKey, requirement);
      if (found.kind !== 'miss') return found;
      const { holder } = requirement;
      const claimedAt = clock.now();
      flights.set(cacheKey, { holder, until: claimedAt + ttlMs });
      return { kind: 'claimed', claim: { holder, claimedAt } };
    },
    put: async (cacheKey, { holder, claimedAt }, response, ageAtClaimMs, ttlMs) => {
      const now = clock.now();
      for (const [name, { until }] of entries) if (until < now) entries.delete(name);
      const before = entries.get(cacheKey);
      // The report that made the request decides how long others may use its response.
      const own = { response, computed: claimedAt - ageAtClaimMs, until: now + ttlMs };
      const best = before !== undefined && before.computed > own.computed ? before : own;
      entries.set(cacheKey, { ...best, requested: Math.max(claimedAt, before?.requested ?? claimedAt) });
      release(cacheKey, holder);
    },
    discard: async (cacheKey) => void entries.delete(cacheKey),
    release: async (cacheKey, { holder }) => release(cacheKey, holder),
  };
}
