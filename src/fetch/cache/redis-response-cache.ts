import { z } from 'zod';
import { reportResponseSchema } from '../../contract/report.ts';
import type { RedisClient } from '../../redis/client.ts';
import { BEFORE_CALL, withRedisErrors } from '../../redis/errors.ts';
import { type LuaScript, loadLuaScript, runLuaScript } from '../../redis/script.ts';
import { compressJson, decompressJson } from './compressed-json.ts';
import {
  apiKeyOfCacheKey,
  type CachedResponse,
  type CacheLookup,
  type FreshnessRequirement,
  type RequestClaim,
  type ResponseCache,
} from './response-cache.ts';

const lookupReplySchema = z.union([
  z.tuple([z.enum(['hit', 'miss'])]),
  z.tuple([z.literal('in_flight'), z.int()]),
  z.tuple([z.literal('claimed'), z.int()]),
]);
const cachedResponseSchema: z.ZodType<CachedResponse> = z.object({
  body: reportResponseSchema,
  correlationId: z.string().nullable(),
  at: z.number(),
  askedBy: z.string(),
});

export interface RedisResponseCacheOptions {
  /** Prefix of every key in Redis, e.g. `docket:`. On a Redis Cluster it must contain the hash tag. */
  readonly prefix: string;
  readonly maxKeyBytes?: number;
  /** Default: `response-cache-1.lua`. Tests pass one with a fake clock. */
  readonly script?: LuaScript;
}

/** Limit for the compressed responses of all organizations of one API key. */
const MAX_KEY_BYTES = 64 * 1024 * 1024;

/** The script with the whole logic of the cache. */
export const responseCacheScript = (): LuaScript => loadLuaScript('./response-cache-1.lua', import.meta.url);

/** The response cache shared by all workers: one Redis hash with a TTL per cache key, compressed. */
export function redisResponseCache(
  redis: RedisClient,
  { prefix, maxKeyBytes = MAX_KEY_BYTES, script = responseCacheScript() }: RedisResponseCacheOptions,
): ResponseCache {
  const keysOf = (cacheKey: string) => ({
    answer: `${prefix}shared:{${cacheKey}}:answer`,
    flight: `${prefix}shared:{${cacheKey}}:flight`,
  });
  const run = (cacheKey: string, args: readonly (string | number | Buffer)[], ...more: string[]): Promise<unknown> => {
    const { answer, flight } = keysOf(cacheKey);
    return withRedisErrors(undefined, () => runLuaScript(redis, script, [answer, flight, ...more], args), BEFORE_CALL);
  };

  const discard = async (cacheKey: string): Promise<void> => {
    await withRedisErrors(undefined, () => redis.del(keysOf(cacheKey).answer), BEFORE_CALL);
  };

  /** Undefined: the response has expired or cannot be read. */
  const read = async (cacheKey: string): Promise<CachedResponse | undefined> => {
    const { answer } = keysOf(cacheKey);
    // This may be a newer response than the one found, but never an older one: only a later one replaces it.
    const compressed = await withRedisErrors(undefined, () => redis.hgetBuffer(answer, 'packed'), BEFORE_CALL);
    const found = compressed === null ? undefined : await decompressJson(compressed, cachedResponseSchema);
    if (found === undefined) await discard(cacheKey);
    return found;
  };
  const find = async (
    cacheKey: string,
    { maxAgeMs, waitingMs, holder }: FreshnessRequirement,
    ...claimTtlMs: number[]
  ) => {
    const operation = claimTtlMs.length === 0 ? 'lookup' : 'claim';
    const args = [operation, Math.floor(maxAgeMs), Math.floor(waitingMs), holder, ...claimTtlMs];
    for (;;) {
      const [kind, ms = 0] = lookupReplySchema.parse(await run(cacheKey, args));
      if (kind === 'in_flight') return { kind, forMs: ms };
      if (kind === 'claimed') return { kind, claim: { holder, claimedAt: ms } satisfies RequestClaim };
      if (kind === 'miss') return { kind };
      const response = await read(cacheKey);
      if (response !== undefined) return { kind, response };
    }
  };

  return {
    lookup: async (cacheKey, requirement): Promise<CacheLookup> => {
      const found = await find(cacheKey, requirement);
      return found.kind === 'claimed' ? { kind: 'miss' } : found;
    },
    claim: (cacheKey, requirement, ttlMs) => find(cacheKey, requirement, Math.ceil(ttlMs)),
    put: async (cacheKey, { holder, claimedAt }, response, ageAtClaimMs, ttlMs) => {
      const compressed = await compressJson(response);
      const times = [claimedAt, Math.ceil(ageAtClaimMs), Math.ceil(ttlMs)];
      const accountPrefix = `${prefix}shared-of:{${apiKeyOfCacheKey(cacheKey)}}`;
      const args = ['put', holder, ...times, compressed, cacheKey, maxKeyBytes];
      await run(cacheKey, args, `${accountPrefix}:account`, `${accountPrefix}:expiry`);
    },
    discard,
    release: async (cacheKey, { holder }) => void (await run(cacheKey, ['release', holder])),
  };
}
