import type { Clock } from '../../base/clock.ts';
import type { CachedResponse, CacheLookup, FreshnessRequirement, ResponseCache } from './response-cache.ts';

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
