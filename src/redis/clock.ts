import { z } from 'zod';
import type { RedisClient } from './client.ts';
import { withRedisErrors } from './errors.ts';
import { redisKeys } from './keys.ts';
import { loadLuaScript, runLuaScript } from './script.ts';

/** The steps of Redis's wall clock that the deployment's processes have measured. */
export interface ClockSteps {
  readonly steps: number;
  /** The last step; null before the first. `ms` is its size, `at` its time (epoch ms). */
  readonly last: { readonly ms: number; readonly at: number } | null;
}

export const NO_STEPS: ClockSteps = { steps: 0, last: null };

/** Measurements of two processes within this time, ms, belong to the same step. */
const SAME_STEP_TOLERANCE_MS = 500;

const RECORD = loadLuaScript('./clock-record.lua', import.meta.url);
const recordReplySchema = z.tuple([z.literal([0, 1]), z.int()]);
const storedSchema = z.object({
  steps: z.coerce.number().int(),
  ms: z.coerce.number().int(),
  at: z.coerce.number().int(),
});

/** Records the steps. Throws `redis.unreachable`. */
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
    /** Reads how many steps are already recorded. Call it before the first measurement. */
    loadBaseline: () => void baseline(),
    /**
     * Records a step. Returns true for the first process that measures it.
     * @param at epoch ms after the step, by Redis's clock
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
