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
  z.tuple([z.enum(['answered', 'nobody'])]),
  z.tuple([z.literal('asking'), z.int()]),
  z.tuple([z.literal('claimed'), z.int()]),
]);
const cachedResponseSchema: z.ZodType<CachedResponse> = z.object({
  body: reportResponseSchema,
  correlationId: z.string().nullable(),
  at: z.number(),
  askedBy: z.string(),
});

export interface RedisResponseCacheOptions {
  /** In front of every key in Redis, e.g. `docket:`. On a Cluster it must hold the hash tag. */
  readonly prefix: string;
  readonly maxKeyBytes?: number;
  /** The script; a test may hand in one whose clock it moves. Default: `shared-1.lua`. */
  readonly script?: LuaScript;
}

/** Packed answers that the organizations of one API key share. */
const MAX_KEY_BYTES = 64 * 1024 * 1024;

/** The script that holds the whole logic of shared answers. */
export const responseCacheScript = (): LuaScript => loadLuaScript('./response-cache-1.lua', import.meta.url);

/** The answers that all workers share, gzipped, one Redis hash a question; they go by themselves. */
export function redisResponseCache(
  redis: RedisClient,
  { prefix, maxKeyBytes = MAX_KEY_BYTES, script = responseCacheScript() }: RedisResponseCacheOptions,
): ResponseCache {
  const keysOf = (question: string) => ({
    answer: `${prefix}shared:{${question}}:answer`,
    flight: `${prefix}shared:{${question}}:flight`,
  });
  const run = (question: string, args: readonly (string | number | Buffer)[], ...more: string[]): Promise<unknown> => {
    const { answer, flight } = keysOf(question);
    return withRedisErrors(undefined, () => runLuaScript(redis, script, [answer, flight, ...more], args), BEFORE_CALL);
  };

  /** Undefined: what is kept is not there any more, or cannot be read. */
  const read = async (question: string): Promise<CachedResponse | undefined> => {
    const { answer } = keysOf(question);
    // Never older than the one that was found: it may have been replaced since, by one computed later.
    const packed = await withRedisErrors(undefined, () => redis.hgetBuffer(answer, 'packed'), BEFORE_CALL);
    const found = packed === null ? undefined : await decompressJson(packed, cachedResponseSchema);
    if (found === undefined) await withRedisErrors(undefined, () => redis.del(answer), BEFORE_CALL);
    return found;
  };
  const find = async (
    question: string,
    { maxAgeMs, wantedForMs, holder }: FreshnessRequirement,
    ...claiming: number[]
  ) => {
    const wish = [Math.floor(maxAgeMs), Math.floor(wantedForMs), holder];
    for (;;) {
      const step = claiming.length === 0 ? 'look' : 'claim';
      const [kind, ms = 0] = lookupReplySchema.parse(await run(question, [step, ...wish, ...claiming]));
      if (kind === 'asking') return { kind, forMs: ms };
      if (kind === 'claimed') return { kind, claim: { holder, asked: ms } satisfies RequestClaim };
      if (kind === 'nobody') return { kind };
      const answer = await read(question);
      if (answer !== undefined) return { kind, answer };
    }
  };

  return {
    lookup: async (question, wish): Promise<CacheLookup> => {
      const found = await find(question, wish);
      return found.kind === 'claimed' ? { kind: 'nobody' } : found;
    },
    claim: (question, wish, forMs) => find(question, wish, Math.ceil(forMs)),
    put: async (question, { holder, asked }, answer, behindMs, keepMs) => {
      const packed = await compressJson(answer);
      const times = [asked, Math.ceil(behindMs), Math.ceil(keepMs)];
      const of = `${prefix}shared-of:{${apiKeyOfCacheKey(question)}}`;
      const args = ['land', holder, ...times, packed, question, maxKeyBytes];
      await run(question, args, `${of}:account`, `${of}:expiry`);
    },
    release: async (question, { holder }) => void (await run(question, ['release', holder])),
  };
}
