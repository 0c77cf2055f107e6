import { z } from 'zod';
import { toDocketError } from '../base/error.ts';
import { readLua, runLua } from '../base/lua.ts';
import type { RedisClient } from '../base/redis-client.ts';
import { pack, unpack } from './packed.ts';
import { reachable } from './reachable.ts';
import type { ResponseStore } from './response-store.ts';

/** A run that has not ended by then never will. */
const ANSWERS_TTL_S = 7 * 24 * 3600;

const MEBIBYTE = 1024 * 1024;
/** Packed answers of one run: a list of several hundred thousand records. */
const MAX_RUN_BYTES = 32 * MEBIBYTE;
/** Packed answers of all runs of an organization. */
const MAX_ORG_BYTES = 128 * MEBIBYTE;

const storedSchema = z.object({
  body: z.unknown(),
  correlationId: z.string().nullable(),
  at: z.number(),
  askedBy: z.string().optional(),
});

export interface RedisStoreOptions {
  /** In front of every key in Redis, its separator included. On a Cluster it must hold the hash tag. */
  readonly prefix: string;
  /** Docket's id of the organization whose runs these are. */
  readonly org: string;
  readonly maxRunBytes?: number;
  readonly maxOrgBytes?: number;
}

const scriptOf = () => readLua('./answers-1.lua', import.meta.url);
const keysOf = (prefix: string, run: string): readonly string[] => [
  `${prefix}answers:${run}`,
  `${prefix}answers-account`,
  `${prefix}answers-expiry`,
];

/**
 * Answers of runs under the worker, gzipped, one Redis hash a run; gone with `drop`, or after seven days. No run and no
 * organization fills Redis for all others: an answer that would be too much is not kept, and neither is any in a Redis
 * that is out of memory.
 */
export function redisStore(redis: RedisClient, options: RedisStoreOptions): ResponseStore {
  const { prefix, org, maxRunBytes = MAX_RUN_BYTES, maxOrgBytes = MAX_ORG_BYTES } = options;
  const script = scriptOf();
  return {
    get: async (run, call) => {
      const packed = await reachable(() => redis.hgetBuffer(`${prefix}answers:${run}`, call));
      // An entry that cannot be read is one we do not have: the call is made again.
      return packed === null ? undefined : unpack(packed, storedSchema);
    },
    put: async (run, call, answer) => {
      const packed = await pack(answer);
      const args = [org, call, packed, ANSWERS_TTL_S, maxRunBytes, maxOrgBytes, `${prefix}answers:`];
      try {
        return (await reachable(() => runLua(redis, script, keysOf(prefix, run), ['put', run, ...args]))) === 1;
      } catch (thrown) {
        if (toDocketError(thrown).code !== 'redis.out_of_memory') throw thrown;
        return false;
      }
    },
    drop: dropAnswers(redis, { prefix }),
  };
}

/** Drops the answers of a run, whoever's it is. */
export function dropAnswers(redis: RedisClient, { prefix }: Pick<RedisStoreOptions, 'prefix'>): ResponseStore['drop'] {
  const script = scriptOf();
  return async (run) => void (await reachable(() => runLua(redis, script, keysOf(prefix, run), ['drop', run])));
}
