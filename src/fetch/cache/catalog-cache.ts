import type { SteadyClock } from '../../base/clock.ts';
import { toDocketError } from '../../base/error.ts';
import { memoize } from '../../base/memoize.ts';
import { asOutcome, done, type Outcome, snooze } from '../../base/outcome.ts';
import { HOUR_MS, SECOND_MS } from '../../base/time.ts';
import { type Catalog, catalogSchema } from '../../contract/catalog.ts';
import type { OrgRef } from '../../contract/organization.ts';
import type { RedisClient } from '../../redis/client.ts';
import { BEFORE_CALL, withRedisErrors } from '../../redis/errors.ts';
import type { ComplianceClient } from '../client/compliance-client.ts';
import type { OnFetchEvent } from '../fetch-events.ts';
import type { Budget, CallClass } from '../rate-limit/budget.ts';
import { rateLimitContext, rateLimitedCall } from '../rate-limit/rate-limited-call.ts';

/** Which catalog is needed, and the budget for its request. */
export interface CatalogRequest {
  readonly client: ComplianceClient;
  readonly budget: Budget;
  /** Fingerprint of the API key. */
  readonly key: string;
  readonly org: OrgRef;
  /** The organization's id in Docket, for the round-robin of the budget. */
  readonly tenant: string;
  readonly priority: CallClass;
  readonly maxWaitMs: number;
  /** A cached catalog that is older is fetched again. Absent: any cached one is used. */
  readonly maxAgeMs?: number | undefined;
}

/** Catalogs by key and organization, cached for an hour: a run spends a metrics call on its catalog only on a miss. */
export interface CatalogCache {
  /** Returns the cached catalog, or spends one token to fetch it. Snoozes and fails like a call. */
  get(request: CatalogRequest, signal: AbortSignal, observe: OnFetchEvent): Promise<Outcome<Catalog>>;
  /** Deletes a cached catalog whose registry version differs from the one of a report. */
  invalidateStale(key: string, org: OrgRef, registryVersion: number): Promise<void>;
  /** Called when the service refuses a request that the catalog allows: the next plan uses a new catalog. */
  invalidate(key: string, org: OrgRef): Promise<void>;
}

interface CatalogStore {
  get(name: string): Promise<Catalog | undefined>;
  /** The stored catalog, or the one that this process read at most `REUSE_MS` ago. */
  reuse(name: string): Promise<Catalog | undefined>;
  /** Age in ms; more than `CATALOG_TTL_MS` if there is no catalog. */
  ageMs(name: string): Promise<number>;
  put(name: string, catalog: Catalog): Promise<void>;
  delete(name: string): Promise<void>;
  /** True for the one run that may fetch the catalog, for `CLAIM_TTL_MS` or until `release`. */
  claim(name: string): Promise<boolean>;
  release(name: string): Promise<void>;
}

const CATALOG_TTL_MS = HOUR_MS;
/**
 * How long a process reuses a catalog that it read, because many runs begin together. Shorter than the delay before any
 * retry.
 */
const REUSE_MS = SECOND_MS;
/** How many catalogs a process keeps for reuse. */
const MAX_REUSED = 64;
/**
 * A catalog older than this is fetched again before a definition is rejected: it may lack recent changes, such as a new
 * group. So an invalid definition costs at most one token a minute.
 */
export const RECENT_CATALOG_MAX_AGE_MS = 60_000;
/** If the claiming worker dies, other runs may fetch the catalog after this time. */
const CLAIM_TTL_MS = 30_000;

/** Time between lookups while another run fetches the catalog. */
const POLL_INTERVAL_MS = 250;

export function memoryCatalogCache(clock: SteadyClock): CatalogCache {
  const held = new Map<string, { readonly catalog: Catalog; readonly until: number }>();
  const claims = new Map<string, number>();
  const get = async (name: string): Promise<Catalog | undefined> => {
    const found = held.get(name);
    return found !== undefined && clock.now() < found.until ? found.catalog : undefined;
  };
  return createCatalogCache(
    {
      get,
      reuse: get,
      ageMs: async (name) => {
        const until = held.get(name)?.until;
        return until === undefined ? Number.POSITIVE_INFINITY : clock.now() - until + CATALOG_TTL_MS;
      },
      put: async (name, catalog) => void held.set(name, { catalog, until: clock.now() + CATALOG_TTL_MS }),
      delete: async (name) => void held.delete(name),
      claim: async (name) => {
        if (clock.now() < (claims.get(name) ?? 0)) return false;
        claims.set(name, clock.now() + CLAIM_TTL_MS);
        return true;
      },
      release: async (name) => void claims.delete(name),
    },
    clock,
  );
}

/** The catalog cache that all workers share. */
export function redisCatalogCache(
  redis: RedisClient,
  { prefix, clock }: { readonly prefix: string; readonly clock: SteadyClock },
): CatalogCache {
  const key = (name: string) => `${prefix}catalog:${name}`;
  // Every run reads a catalog, and most organizations have the same text.
  const read = memoize(readCatalog, 16);
  const callRedis = <Reply>(question: () => Promise<Reply>): Promise<Reply> =>
    withRedisErrors(undefined, question, BEFORE_CALL);
  const recent = new Map<string, { readonly catalog: Catalog; readonly at: number }>();
  const get = async (name: string): Promise<Catalog | undefined> => {
    recent.delete(name);
    const at = clock.monotonic();
    const text = await callRedis(() => redis.get(key(name)));
    const catalog = text === null ? undefined : read(text);
    if (catalog === undefined) return undefined;
    recent.set(name, { catalog, at });
    const [oldest] = recent.size > MAX_REUSED ? recent.keys() : [];
    if (oldest !== undefined) recent.delete(oldest);
    return catalog;
  };
  return createCatalogCache(
    {
      get,
      reuse: async (name) => {
        const found = recent.get(name);
        return found !== undefined && clock.monotonic() - found.at < REUSE_MS ? found.catalog : get(name);
      },
      ageMs: async (name) => CATALOG_TTL_MS - (await callRedis(() => redis.pttl(key(name)))),
      put: async (name, catalog) => {
        recent.delete(name);
        await callRedis(() => redis.set(key(name), JSON.stringify(catalog), 'PX', CATALOG_TTL_MS));
      },
      delete: async (name) => {
        recent.delete(name);
        await callRedis(() => redis.del(key(name)));
      },
      claim: async (name) => {
        const claim = `${key(name)}:claim`;
        if ((await callRedis(() => redis.set(claim, '1', 'PX', CLAIM_TTL_MS, 'NX'))) === 'OK') return true;
        // If the clock of Redis is set back, the claim of a dead worker would last longer by that step.
        if ((await callRedis(() => redis.pttl(claim))) > CLAIM_TTL_MS)
          await callRedis(() => redis.pexpire(claim, CLAIM_TTL_MS));
        return false;
      },
      release: async (name) => void (await callRedis(() => redis.del(`${key(name)}:claim`))),
    },
    clock,
  );
}

/** The catalog that the workers have cached, if any; makes no request to the service. Throws `redis.unreachable`. */
export async function cachedCatalog(
  redis: RedisClient,
  prefix: string,
  key: string,
  org: OrgRef,
): Promise<Catalog | undefined> {
  const text = await withRedisErrors(undefined, () => redis.get(`${prefix}catalog:${key}:${org}`), BEFORE_CALL);
  return text === null ? undefined : readCatalog(text);
}

/** Undefined for text from an older version of Docket that no longer matches the schema. */
function readCatalog(text: string): Catalog | undefined {
  try {
    return catalogSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function createCatalogCache(store: CatalogStore, clock: SteadyClock): CatalogCache {
  const nameOf = (key: string, org: OrgRef) => `${key}:${org}`;
  const cached = async (name: string, maxAgeMs: number | undefined): Promise<Catalog | undefined> => {
    if (maxAgeMs === undefined) return store.reuse(name);
    const found = await store.get(name);
    if (found === undefined) return undefined;
    return (await store.ageMs(name)) <= maxAgeMs ? found : undefined;
  };
  const fetchClaimed = async (
    request: CatalogRequest,
    name: string,
    signal: AbortSignal,
    observe: OnFetchEvent,
  ): Promise<Outcome<Catalog>> => {
    try {
      // Another run may have stored it between our lookup and our claim.
      const found = await cached(name, request.maxAgeMs);
      if (found !== undefined) return done(found);
      const { tenant, org, priority, budget } = request;
      // Catalogs have a separate turn in the queue. Otherwise runs that have queued for longer than a catalog lives
      // would wait behind each other for a new one.
      const context = { ...rateLimitContext(tenant, { ...request, clock }, budget), turn: `${tenant}:catalog` };
      const result = await rateLimitedCall(context, {
        // All runs use one id: a run that takes over the request keeps the queue position of the run before.
        id: `catalog:${org}:${priority}`,
        attempt: () => request.client.catalog(request.org, signal),
        onWait: ({ at, ahead, tokens }) => observe({ type: 'waiting', call: 'catalog', until: at, ahead, tokens }),
        onGrant: () => observe({ type: 'granted', call: 'catalog' }),
        signal,
      });
      if (result.kind !== 'done') return result;
      await store.put(name, result.value.value);
      return done(result.value.value);
    } finally {
      await store.release(name);
    }
  };

  return {
    get: (request, signal, observe) =>
      asOutcome(signal, async () => {
        const name = nameOf(request.key, request.org);
        const since = clock.monotonic();
        for (;;) {
          const found = await cached(name, request.maxAgeMs);
          if (found !== undefined) return done(found);
          if (await store.claim(name)) return await fetchClaimed(request, name, signal, observe);
          // Many runs start at once, and one of them fetches the catalog for all.
          if (clock.monotonic() - since > request.maxWaitMs)
            return snooze(clock.now() + POLL_INTERVAL_MS, 'waiting for another run to fetch the catalog');
          await clock.sleep(POLL_INTERVAL_MS, signal);
        }
      }),
    invalidate: (key, org) => store.delete(nameOf(key, org)),
    invalidateStale: async (key, org, registryVersion) => {
      const name = nameOf(key, org);
      const found = await store.get(name);
      if (found !== undefined && found.registry_version !== registryVersion) await store.delete(name);
    },
  };
}

/**
 * Makes something from a catalog. If that fails with `plan.invalid` and the cached catalog is old, tries once more with
 * a recent one.
 *
 * @param getCatalog takes the maximum age in ms; without one, any cached catalog will do
 */
export async function withCatalog<Result>(
  getCatalog: (maxAgeMs?: number) => Promise<Catalog>,
  make: (catalog: Catalog) => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await make(await getCatalog());
  } catch (thrown) {
    if (toDocketError(thrown).code !== 'plan.invalid') throw thrown;
    return await make(await getCatalog(RECENT_CATALOG_MAX_AGE_MS));
  }
}
