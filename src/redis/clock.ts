import { z } from 'zod';
import type { RedisClient } from './client.ts';
import { withRedisErrors } from './errors.ts';
import { redisKeys } from './keys.ts';
import { loadLuaScript, runLuaScript } from './script.ts';

/** The steps of Redis's wall clock that processes of the deployment have measured. */
export interface ClockSteps {
  readonly steps: number;
  /** Null before the first; `ms` is its size, `at` epoch ms. */
  readonly last: { readonly ms: number; readonly at: number } | null;
}

export const NO_STEPS: ClockSteps = { steps: 0, last: null };

/** Two processes measure one step within this, ms. */
const SAME_STEP_TOLERANCE_MS = 500;

const RECORD = loadLuaScript('./clock-record.lua', import.meta.url);
const recordReplySchema = z.tuple([z.literal([0, 1]), z.int()]);
const storedSchema = z.object({
  steps: z.coerce.number().int(),
  ms: z.coerce.number().int(),
  at: z.coerce.number().int(),
});

/** Throws `redis.unreachable`. */
export function redisClock(redis: RedisClient, { prefix }: { readonly prefix: string }) {
  const key = redisKeys(prefix).redisClock;
  const read = async (): Promise<ClockSteps> => {
    const stored = storedSchema.safeParse(await withRedisErrors(redis, () => redis.hgetall(key)));
    if (!stored.success) return NO_STEPS;
    const { steps, ms, at } = stored.data;
    return { steps, last: { ms, at } };
  };
  let known: Promise<number> | undefined;
  const baseline = () => {
    known ??= read().then(
      ({ steps }) => steps,
      () => 0,
    );
    return known;
  };
  return {
    read,
    /** Reads how many steps are recorded already; called before the first measurement. */
    loadBaseline: () => void baseline(),
    /**
     * Records a step. True for the first process to measure it.
     * @param at epoch ms by the clock of Redis after the step
     */
    record: async (ms: number, at: number): Promise<boolean> => {
      const args = [ms, at, await baseline(), SAME_STEP_TOLERANCE_MS];
      const reply = await withRedisErrors(redis, () => runLuaScript(redis, RECORD, [key], args));
      const [first, steps] = recordReplySchema.parse(reply);
      known = Promise.resolve(steps);
      return first === 1;
    },
  };
}
