import { z } from 'zod';
import { type LuaScript, readLua, runLua } from '../base/lua.ts';
import type { RedisClient } from '../base/redis-client.ts';
import { reportResponseSchema } from '../contract/report.ts';
import { pack, unpack } from './packed.ts';
import { reachable } from './reachable.ts';
import {
  apiKeyOf,
  type Claim,
  type Found,
  type SharedAnswer,
  type SharedAnswers,
  type Wish,
} from './shared-answers.ts';

const foundSchema = z.union([
  z.tuple([z.enum(['answered', 'nobody'])]),
  z.tuple([z.literal('asking'), z.int()]),
  z.tuple([z.literal('claimed'), z.int()]),
]);
const answerSchema: z.ZodType<SharedAnswer> = z.object({
  body: reportResponseSchema,
  correlationId: z.string().nullable(),
  at: z.number(),
  askedBy: z.string(),
});

export interface RedisSharedOptions {
  /** In front of every key in Redis, e.g. `docket:`. On a Cluster it must hold the hash tag. */
  readonly prefix: string;
  readonly maxKeyBytes?: number;
  /** The script; a test may hand in one whose clock it moves. Default: `shared-1.lua`. */
  readonly script?: LuaScript;
}

/** Packed answers that the organizations of one API key share. */
const MAX_KEY_BYTES = 64 * 1024 * 1024;

/** The script that holds the whole logic of shared answers. */
export const sharedScript = (): LuaScript => readLua('./shared-1.lua', import.meta.url);

/** The answers that all workers share, gzipped, one Redis hash a question; they go by themselves. */
export function redisShared(
  redis: RedisClient,
  { prefix, maxKeyBytes = MAX_KEY_BYTES, script = sharedScript() }: RedisSharedOptions,
): SharedAnswers {
  const keysOf = (question: string) => ({
    answer: `${prefix}shared:{${question}}:answer`,
    flight: `${prefix}shared:{${question}}:flight`,
  });
  const run = (question: string, args: readonly (string | number | Buffer)[], ...more: string[]): Promise<unknown> => {
    const { answer, flight } = keysOf(question);
    return reachable(() => runLua(redis, script, [answer, flight, ...more], args));
  };

  /** Undefined: what is kept is not there any more, or cannot be read. */
  const read = async (question: string): Promise<SharedAnswer | undefined> => {
    const { answer } = keysOf(question);
    // Never older than the one that was found: it may have been replaced since, by one computed later.
    const packed = await reachable(() => redis.hgetBuffer(answer, 'packed'));
    const found = packed === null ? undefined : await unpack(packed, answerSchema);
    if (found === undefined) await reachable(() => redis.del(answer));
    return found;
  };
  const find = async (question: string, { maxAgeMs, wantedMs, holder }: Wish, ...claiming: number[]) => {
    const wish = [Math.floor(maxAgeMs), Math.floor(wantedMs), holder];
    for (;;) {
      const step = claiming.length === 0 ? 'look' : 'claim';
      const [kind, ms = 0] = foundSchema.parse(await run(question, [step, ...wish, ...claiming]));
      if (kind === 'asking') return { kind, forMs: ms };
      if (kind === 'claimed') return { kind, claim: { holder, asked: ms } satisfies Claim };
      if (kind === 'nobody') return { kind };
      const answer = await read(question);
      if (answer !== undefined) return { kind, answer };
    }
  };

  return {
    look: async (question, wish): Promise<Found> => {
      const found = await find(question, wish);
      return found.kind === 'claimed' ? { kind: 'nobody' } : found;
    },
    claim: (question, wish, forMs) => find(question, wish, Math.ceil(forMs)),
    land: async (question, { holder, asked }, answer, behindMs, keepMs) => {
      const packed = await pack(answer);
      const times = [asked, Math.ceil(behindMs), Math.ceil(keepMs)];
      const of = `${prefix}shared-of:{${apiKeyOf(question)}}`;
      const args = ['land', holder, ...times, packed, question, maxKeyBytes];
      await run(question, args, `${of}:account`, `${of}:expiry`);
    },
    release: async (question, { holder }) => void (await run(question, ['release', holder])),
  };
}
