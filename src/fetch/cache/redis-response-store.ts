import { z } from 'zod';
import { toDocketError } from '../../base/error.ts';
import type { RedisClient } from '../../redis/client.ts';
import { BEFORE_CALL, withRedisErrors } from '../../redis/errors.ts';
import { type LuaScript, loadLuaScript, runLuaScript } from '../../redis/script.ts';
import { compressJson, decompressJson } from './compressed-json.ts';
import type { ResponseStore } from './response-store.ts';

/** Longer than any run lasts. */
const RESPONSES_TTL_S = 7 * 24 * 3600;

const MIB = 1024 * 1024;
/** Limit for the compressed responses of one run: enough for a list of several hundred thousand records. */
const MAX_RUN_BYTES = 32 * MIB;
/** Limit for the compressed responses of all runs of an organization. */
export const MAX_ORG_BYTES = 128 * MIB;

const storedResponseSchema = z.object({
  body: z.unknown(),
  correlationId: z.string().nullable(),
  at: z.number(),
  askedBy: z.string().optional(),
});

export interface RedisResponseStoreOptions {
  /** Prefix of every key in Redis, with its separator. On a Redis Cluster it must contain the hash tag. */
  readonly prefix: string;
  /** Docket's id of the organization that the runs belong to. */
  readonly org: string;
  readonly maxRunBytes?: number;
  readonly maxOrgBytes?: number;
  /** Seconds for which a run's responses are kept after the last one was stored. Default: seven days. */
  readonly ttlS?: number;
  /** From `responseStoreScript`. Default: read from its file. */
  readonly script?: LuaScript;
}

/** The script that the stores of all organizations use. */
export const responseStoreScript = (): LuaScript => loadLuaScript('./response-store-1.lua', import.meta.url);
const keysOf = (prefix: string, run: string): readonly string[] => [
  `${prefix}answers:${run}`,
  `${prefix}answers-account`,
  `${prefix}answers-expiry`,
];

/**
 * Stores the responses of the workers' runs: one Redis hash per run, compressed, with a TTL of seven days. A response
 * that would exceed the limit of its run or organization is not stored, and nothing is stored while Redis is out of
 * memory.
 */
export function redisResponseStore(redis: RedisClient, options: RedisResponseStoreOptions): ResponseStore {
  const { prefix, org, maxRunBytes = MAX_RUN_BYTES, maxOrgBytes = MAX_ORG_BYTES } = options;
  const { script = responseStoreScript(), ttlS = RESPONSES_TTL_S } = options;
  return {
    get: async (run, call) => {
      const compressed = await withRedisErrors(
        undefined,
        () => redis.hgetBuffer(`${prefix}answers:${run}`, call),
        BEFORE_CALL,
      );
      // An unreadable entry counts as missing: the call is made again.
      return compressed === null ? undefined : decompressJson(compressed, storedResponseSchema);
    },
    put: async (run, call, response) => {
      const compressed = await compressJson(response);
      const args = [org, call, compressed, ttlS, maxRunBytes, maxOrgBytes, `${prefix}answers:`];
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
    delete: deleteResponses(redis, { prefix, script }),
  };
}

/** Deletes the responses of a run, whatever its organization. */
export function deleteResponses(
  redis: RedisClient,
  { prefix, script = responseStoreScript() }: Pick<RedisResponseStoreOptions, 'prefix' | 'script'>,
): ResponseStore['delete'] {
  return async (run) =>
    void (await withRedisErrors(
      undefined,
      () => runLuaScript(redis, script, keysOf(prefix, run), ['delete', run]),
      BEFORE_CALL,
    ));
}
