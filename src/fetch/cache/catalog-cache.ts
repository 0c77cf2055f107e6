import type { SteadyClock } from '../../base/clock.ts';
import { toDocketError } from '../../base/error.ts';
import { memoize } from '../../base/memoize.ts';
import { asOutcome, done, type Outcome, snooze } from '../../base/outcome.ts';
import { type Catalog, catalogSchema } from '../../contract/catalog.ts';
import type { OrgRef } from '../../contract/organization.ts';
import type { RedisClient } from '../../redis/client.ts';
import { withRedisTimeout } from '../../redis/errors.ts';
import type { ComplianceClient } from '../client/compliance-client.ts';
import type { OnFetchEvent } from '../fetch-events.ts';
import type { Budget, Priority } from '../rate-limit/budget.ts';
import { rateLimitedCall } from '../rate-limit/rate-limited-call.ts';

/** Whose catalog, and who pays for asking. */
export interface CatalogRequest {
  readonly client: ComplianceClient;
  readonly budget: Budget;
  /** Fingerprint of the API key. */
  readonly key: string;
  readonly org: OrgRef;
  /** The organization's name in Docket, which stands in the key's line. */
  readonly tenant: string;
  readonly priority: Priority;
  /** Id of the run: its place in the line is its own. */
  readonly run: string;
  readonly maxWaitMs: number;
  /** A held one that is older is asked for anew; any that is held will do when absent. */
  readonly maxAgeMs?: number | undefined;
}

/** Catalogs, one per key and organization, kept for an hour: a run costs a metrics call for its catalog only when none is held. */
export interface CatalogCache {
  /** The catalog that is held, or the service's own for one token. Snoozes and fails as a call does. */
  get(source: CatalogRequest, signal: AbortSignal, observe: OnFetchEvent): Promise<Outcome<Catalog>>;
  /** A report came from a registry of this version: a catalog of another one is forgotten. */
  invalidateStale(key: string, org: OrgRef, registryVersion: number): Promise<void>;
  /** A question that the held catalog allows was refused: it is forgotten, so that the next plan is made with a new one. */
  invalidate(key: string, org: OrgRef): Promise<void>;
}

/** Where catalogs are kept. */
interface CatalogStore {
  get(name: string): Promise<Catalog | undefined>;
  /** How long ago it was put there, ms; more than `KEEP_MS` when it is not there. */
  ageMs(name: string): Promise<number>;
  put(name: string, catalog: Catalog): Promise<void>;
  delete(name: string): Promise<void>;
  /** True for the one that may ask the service; it holds for `CLAIM_MS`, or until it is released. */
  claim(name: string): Promise<boolean>;
  release(name: string): Promise<void>;
}

const CATALOG_TTL_MS = 3_600_000;
/**
 * A held catalog that is older may lack what the organization has since, such as a new group: before a definition is
 * refused because of it, a new one is asked for. Definitions that are wrong cost a token a minute at most.
 */
export const RECENT_CATALOG_MAX_AGE_MS = 60_000;
/** Should whoever asks die, the others ask themselves after this. */
const CLAIM_TTL_MS = 30_000;
/** How often those who wait for another's answer look for it. */
const POLL_INTERVAL_MS = 250;

export function memoryCatalogCache(clock: SteadyClock): CatalogCache {
  const held = new Map<string, { readonly catalog: Catalog; readonly until: number }>();
  const claims = new Map<string, number>();
  return createCatalogCache(
    {
      get: async (name) => {
        const found = held.get(name);
        return found !== undefined && clock.now() < found.until ? found.catalog : undefined;
      },
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

/** Shared by all workers. */
export function redisCatalogCache(
  redis: RedisClient,
  { prefix, clock }: { readonly prefix: string; readonly clock: SteadyClock },
): CatalogCache {
  const key = (name: string) => `${prefix}catalog:${name}`;
  // Every run reads one, and most organizations have the same.
  const read = memoize(readCatalog, 16);
  return createCatalogCache(
    {
      get: async (name) => {
        const text = await withRedisTimeout(() => redis.get(key(name)));
        return text === null ? undefined : read(text);
      },
      ageMs: async (name) => CATALOG_TTL_MS - (await withRedisTimeout(() => redis.pttl(key(name)))),
      put: async (name, catalog) =>
        void (await withRedisTimeout(() => redis.set(key(name), JSON.stringify(catalog), 'PX', CATALOG_TTL_MS))),
      delete: async (name) => void (await withRedisTimeout(() => redis.del(key(name)))),
      claim: async (name) =>
        (await withRedisTimeout(() => redis.set(`${key(name)}:claim`, '1', 'PX', CLAIM_TTL_MS, 'NX'))) === 'OK',
      release: async (name) => void (await withRedisTimeout(() => redis.del(`${key(name)}:claim`))),
    },
    clock,
  );
}

/** The catalog that the workers hold, if they do; nobody is asked for one. Throws `redis.unreachable`. */
export async function cachedCatalog(
  redis: RedisClient,
  prefix: string,
  key: string,
  org: OrgRef,
): Promise<Catalog | undefined> {
  const text = await withRedisTimeout(() => redis.get(`${prefix}catalog:${key}:${org}`));
  return text === null ? undefined : readCatalog(text);
}

/** One that an older Docket wrote, and that no longer reads, is one we do not have. */
function readCatalog(text: string): Catalog | undefined {
  try {
    return catalogSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function createCatalogCache(shelf: CatalogStore, clock: SteadyClock): CatalogCache {
  const nameOf = (key: string, org: OrgRef) => `${key}:${org}`;
  const held = async (name: string, maxAgeMs: number | undefined): Promise<Catalog | undefined> => {
    const found = await shelf.get(name);
    if (found === undefined || maxAgeMs === undefined) return found;
    return (await shelf.ageMs(name)) <= maxAgeMs ? found : undefined;
  };
  const ask = async (
    source: CatalogRequest,
    name: string,
    signal: AbortSignal,
    observe: OnFetchEvent,
  ): Promise<Outcome<Catalog>> => {
    const { client, budget, key, tenant, priority, maxWaitMs } = source;
    try {
      // It may have come between our look and our claim.
      const found = await held(name, source.maxAgeMs);
      if (found !== undefined) return done(found);
      const paid = await rateLimitedCall(
        { budget, clock, key, org: tenant, priority, maxWaitMs, requestTimeoutMs: client.requestTimeoutMs },
        {
          id: `${source.run}:catalog`,
          attempt: () => client.catalog(source.org, signal),
          onWait: ({ at, ahead, tokens }) => observe({ type: 'waiting', call: 'catalog', until: at, ahead, tokens }),
          onGrant: () => observe({ type: 'granted', call: 'catalog' }),
          signal,
        },
      );
      if (paid.kind !== 'done') return paid;
      await shelf.put(name, paid.value.value);
      return done(paid.value.value);
    } finally {
      await shelf.release(name);
    }
  };

  return {
    get: (source, signal, observe) =>
      asOutcome(signal, async () => {
        const name = nameOf(source.key, source.org);
        const since = clock.monotonic();
        for (;;) {
          const found = await held(name, source.maxAgeMs);
          if (found !== undefined) return done(found);
          if (await shelf.claim(name)) return await ask(source, name, signal, observe);
          // Many runs start at one instant: one of them asks for all.
          if (clock.monotonic() - since > source.maxWaitMs)
            return snooze(clock.now() + POLL_INTERVAL_MS, 'another run asks for the catalog');
          await clock.sleep(POLL_INTERVAL_MS, signal);
        }
      }),
    invalidate: (key, org) => shelf.delete(nameOf(key, org)),
    invalidateStale: async (key, org, registryVersion) => {
      const name = nameOf(key, org);
      const found = await shelf.get(name);
      if (found !== undefined && found.registry_version !== registryVersion) await shelf.delete(name);
    },
  };
}

/**
 * Makes something from a catalog. If a cached catalog is too old for it (`plan.invalid`), tries once more with a recent one.
 *
 * @param getCatalog takes the maximum age in ms; any cached catalog will do when it is absent
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
