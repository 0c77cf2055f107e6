import type { Redis } from 'ioredis';
import type { Clock } from '../base/clock.ts';
import { type Catalog, catalogSchema } from '../contract/catalog.ts';
import type { OrgRef } from '../contract/organization.ts';
import { reachable } from './script.ts';

/** Catalogs that are held, one per key and organization, for an hour: a run pays for its catalog only when none is. */
export interface Catalogs {
  /** @param key fingerprint of the API key */
  get(key: string, org: OrgRef): Promise<Catalog | undefined>;
  put(key: string, org: OrgRef, catalog: Catalog): Promise<void>;
  /** A report came from a registry of this version: a catalog of another one is forgotten. */
  saw(key: string, org: OrgRef, registryVersion: number): Promise<void>;
}

const KEEP_MS = 3_600_000;

export function memoryCatalogs(clock: Clock): Catalogs {
  const held = new Map<string, { readonly catalog: Catalog; readonly until: number }>();
  return catalogsOn({
    get: async (name) => {
      const found = held.get(name);
      return found !== undefined && clock.now() < found.until ? found.catalog : undefined;
    },
    put: async (name, catalog) => void held.set(name, { catalog, until: clock.now() + KEEP_MS }),
    drop: async (name) => void held.delete(name),
  });
}

/** Shared by all workers. */
export function redisCatalogs(redis: Redis, { prefix }: { readonly prefix: string }): Catalogs {
  const key = (name: string) => `${prefix}catalog:${name}`;
  return catalogsOn({
    get: async (name) => {
      const text = await reachable(() => redis.get(key(name)));
      return text === null ? undefined : readCatalog(text);
    },
    put: async (name, catalog) =>
      void (await reachable(() => redis.set(key(name), JSON.stringify(catalog), 'PX', KEEP_MS))),
    drop: async (name) => void (await reachable(() => redis.del(key(name)))),
  });
}

/** One that another version of Docket wrote, and that no longer reads, is one we do not have. */
function readCatalog(text: string): Catalog | undefined {
  try {
    return catalogSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

interface Shelf {
  get(name: string): Promise<Catalog | undefined>;
  put(name: string, catalog: Catalog): Promise<void>;
  drop(name: string): Promise<void>;
}

function catalogsOn(shelf: Shelf): Catalogs {
  const nameOf = (key: string, org: OrgRef) => `${key}:${org}`;
  return {
    get: (key, org) => shelf.get(nameOf(key, org)),
    put: (key, org, catalog) => shelf.put(nameOf(key, org), catalog),
    saw: async (key, org, registryVersion) => {
      const held = await shelf.get(nameOf(key, org));
      if (held !== undefined && held.registry_version !== registryVersion) await shelf.drop(nameOf(key, org));
    },
  };
}
