import type { SteadyClock } from '../base/clock.ts';
import { done, type Outcome, snooze } from '../base/outcome.ts';
import type { RedisClient } from '../base/redis-client.ts';
import { remembered } from '../base/remembered.ts';
import { type Catalog, catalogSchema } from '../contract/catalog.ts';
import type { OrgRef } from '../contract/organization.ts';
import { asOutcome } from './as-outcome.ts';
import type { Budget, Priority } from './budget.ts';
import type { ComplianceClient } from './client.ts';
import type { ObserveFetch } from './event.ts';
import { paidCall } from './paid-call.ts';
import { reachable } from './reachable.ts';

/** Whose catalog, and who pays for asking. */
export interface CatalogSource {
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
  readonly patienceMs: number;
  /** A held one that is older is asked for anew; any that is held will do when absent. */
  readonly maxAgeMs?: number | undefined;
}

/** Catalogs, one per key and organization, kept for an hour: a run costs a metrics call for its catalog only when none is held. */
export interface Catalogs {
  /** The catalog that is held, or the service's own for one token. Snoozes and fails as a call does. */
  get(source: CatalogSource, signal: AbortSignal, observe: ObserveFetch): Promise<Outcome<Catalog>>;
  /** A report came from a registry of this version: a catalog of another one is forgotten. */
  saw(key: string, org: OrgRef, registryVersion: number): Promise<void>;
  /** A question that the held catalog allows was refused: it is forgotten, so that the next plan is made with a new one. */
  forget(key: string, org: OrgRef): Promise<void>;
}

/** Where catalogs are kept. */
interface Shelf {
  get(name: string): Promise<Catalog | undefined>;
  /** How long ago it was put there, ms; more than `KEEP_MS` when it is not there. */
  ageMs(name: string): Promise<number>;
  put(name: string, catalog: Catalog): Promise<void>;
  drop(name: string): Promise<void>;
  /** True for the one that may ask the service; it holds for `CLAIM_MS`, or until it is released. */
  claim(name: string): Promise<boolean>;
  release(name: string): Promise<void>;
}

const KEEP_MS = 3_600_000;
/**
 * A held catalog that is older may lack what the organization has since, such as a new group: before a definition is
 * refused because of it, a new one is asked for. Definitions that are wrong cost a token a minute at most.
 */
export const RECENT_CATALOG_MS = 60_000;
/** Should whoever asks die, the others ask themselves after this. */
const CLAIM_MS = 30_000;
/** How often those who wait for another's answer look for it. */
const LOOK_MS = 250;

export function memoryCatalogs(clock: SteadyClock): Catalogs {
  const held = new Map<string, { readonly catalog: Catalog; readonly until: number }>();
  const claims = new Map<string, number>();
  return catalogsOn(
    {
      get: async (name) => {
        const found = held.get(name);
        return found !== undefined && clock.now() < found.until ? found.catalog : undefined;
      },
      ageMs: async (name) => {
        const until = held.get(name)?.until;
        return until === undefined ? Number.POSITIVE_INFINITY : clock.now() - until + KEEP_MS;
      },
      put: async (name, catalog) => void held.set(name, { catalog, until: clock.now() + KEEP_MS }),
      drop: async (name) => void held.delete(name),
      claim: async (name) => {
        if (clock.now() < (claims.get(name) ?? 0)) return false;
        claims.set(name, clock.now() + CLAIM_MS);
        return true;
      },
      release: async (name) => void claims.delete(name),
    },
    clock,
  );
}

/** Shared by all workers. */
export function redisCatalogs(
  redis: RedisClient,
  { prefix, clock }: { readonly prefix: string; readonly clock: SteadyClock },
): Catalogs {
  const key = (name: string) => `${prefix}catalog:${name}`;
  // Every run reads one, and most organizations have the same.
  const read = remembered(readCatalog, 16);
  return catalogsOn(
    {
      get: async (name) => {
        const text = await reachable(() => redis.get(key(name)));
        return text === null ? undefined : read(text);
      },
      ageMs: async (name) => KEEP_MS - (await reachable(() => redis.pttl(key(name)))),
      put: async (name, catalog) =>
        void (await reachable(() => redis.set(key(name), JSON.stringify(catalog), 'PX', KEEP_MS))),
      drop: async (name) => void (await reachable(() => redis.del(key(name)))),
      claim: async (name) => {
        const claim = `${key(name)}:claim`;
        if ((await reachable(() => redis.set(claim, '1', 'PX', CLAIM_MS, 'NX'))) === 'OK') return true;
        // A step back of Redis' clock makes the claim of a worker that died last longer by that step.
        if ((await reachable(() => redis.pttl(claim))) > CLAIM_MS)
          await reachable(() => redis.pexpire(claim, CLAIM_MS));
        return false;
      },
      release: async (name) => void (await reachable(() => redis.del(`${key(name)}:claim`))),
    },
    clock,
  );
}

/** The catalog that the workers hold, if they do; nobody is asked for one. Throws `redis.unreachable`. */
export async function heldCatalog(
  redis: RedisClient,
  prefix: string,
  key: string,
  org: OrgRef,
): Promise<Catalog | undefined> {
  const text = await reachable(() => redis.get(`${prefix}catalog:${key}:${org}`));
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

function catalogsOn(shelf: Shelf, clock: SteadyClock): Catalogs {
  const nameOf = (key: string, org: OrgRef) => `${key}:${org}`;
  const held = async (name: string, maxAgeMs: number | undefined): Promise<Catalog | undefined> => {
    const found = await shelf.get(name);
    if (found === undefined || maxAgeMs === undefined) return found;
    return (await shelf.ageMs(name)) <= maxAgeMs ? found : undefined;
  };
  const ask = async (
    source: CatalogSource,
    name: string,
    signal: AbortSignal,
    observe: ObserveFetch,
  ): Promise<Outcome<Catalog>> => {
    const { client, budget, key, tenant, priority, patienceMs } = source;
    try {
      // It may have come between our look and our claim.
      const found = await held(name, source.maxAgeMs);
      if (found !== undefined) return done(found);
      const paid = await paidCall(
        { budget, clock, key, org: tenant, priority, patienceMs, deadlineMs: client.deadlineMs },
        {
          id: `${source.run}:catalog`,
          attempt: () => client.catalog(source.org, signal),
          waiting: ({ at, ahead, tokens }) => observe({ type: 'waiting', call: 'catalog', until: at, ahead, tokens }),
          granted: () => observe({ type: 'granted', call: 'catalog' }),
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
          if (clock.monotonic() - since > source.patienceMs)
            return snooze(clock.now() + LOOK_MS, 'another run asks for the catalog');
          await clock.sleep(LOOK_MS, signal);
        }
      }),
    forget: (key, org) => shelf.drop(nameOf(key, org)),
    saw: async (key, org, registryVersion) => {
      const name = nameOf(key, org);
      const found = await shelf.get(name);
      if (found !== undefined && found.registry_version !== registryVersion) await shelf.drop(name);
    },
  };
}
