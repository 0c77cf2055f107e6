import { z } from 'zod';
import { toDocketError } from '../../base/error.ts';
import type { RedisClient } from '../../redis/client.ts';
import { BEFORE_CALL, withRedisErrors } from '../../redis/errors.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';
import { compressJson, decompressJson } from './compressed-json.ts';
import type { ResponseStore } from './response-store.ts';

/** A run that has not ended by then never will. */
const RESPONSES_TTL_S = 7 * 24 * 3600;

const MIB = 1024 * 1024;
/** Packed answers of one run: a list of several hundred thousand records. */
const MAX_RUN_BYTES = 32 * MIB;
/** Packed answers of all runs of an organization. */
const MAX_ORG_BYTES = 128 * MIB;

const storedResponseSchema = z.object({
  body: z.unknown(),
  correlationId: z.string().nullable(),
  at: z.number(),
  askedBy: z.string().optional(),
});

export interface RedisResponseStoreOptions {
  /** In front of every key in Redis, its separator included. On a Cluster it must hold the hash tag. */
  readonly prefix: string;
  /** Docket's id of the organization whose runs these are. */
  readonly org: string;
  readonly maxRunBytes?: number;
  readonly maxOrgBytes?: number;
}

const storeScript = () => loadLuaScript('./response-store-1.lua', import.meta.url);
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
export function redisResponseStore(redis: RedisClient, options: RedisResponseStoreOptions): ResponseStore {
  const { prefix, org, maxRunBytes = MAX_RUN_BYTES, maxOrgBytes = MAX_ORG_BYTES } = options;
  const script = storeScript();
  return {
    get: async (run, call) => {
      const packed = await withRedisErrors(
        undefined,
        () => redis.hgetBuffer(`${prefix}answers:${run}`, call),
        BEFORE_CALL,
      );
      // An entry that cannot be read is one we do not have: the call is made again.
      return packed === null ? undefined : decompressJson(packed, storedResponseSchema);
    },
    put: async (run, call, answer) => {
      const packed = await compressJson(answer);
      const args = [org, call, packed, RESPONSES_TTL_S, maxRunBytes, maxOrgBytes, `${prefix}answers:`];
      try {
        return (
          (await withRedisErrors(
            undefined,
            () => runLuaScript(redis, script, keysOf(prefix, run), ['put', run, ...args]),
            BEFORE_CALL,
          )) === 1
        );
      } catch (thrown) {
        if (toDocketError(thrown).code !== 'redis.out_of_memory') throw thrown;
        return false;
      }
    },
    delete: deleteResponses(redis, { prefix }),
  };
}

/** Drops the answers of a run, whoever's it is. */
export function deleteResponses(
  redis: RedisClient,
  { prefix }: Pick<RedisResponseStoreOptions, 'prefix'>,
): ResponseStore['delete'] {
  const script = storeScript();
  return async (run) =>
    void (await withRedisErrors(
      undefined,
      () => runLuaScript(redis, script, keysOf(prefix, run), ['drop', run]),
      BEFORE_CALL,
    ));
}
