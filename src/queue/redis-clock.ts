import { z } from 'zod';
import { asking } from './connection.ts';
import { keysOf } from './keys.ts';
import { type RedisClient, script } from './script.ts';

/** The steps of the wall clock of Redis that processes of the deployment have seen. */
export interface ClockSteps {
  readonly steps: number;
  /** Null before the first. */
  readonly last: { readonly ms: number; readonly at: number } | null;
}

export const NO_STEPS: ClockSteps = { steps: 0, last: null };

export interface RedisClock {
  /** Steps of before are none that this process sees: called before the first reading. */
  begin(): void;
  /**
   * Records a step that this process saw. Whether it is the first of all processes to see it.
   * @param at epoch ms by the clock of Redis after the step
   */
  record(ms: number, at: number): Promise<boolean>;
  read(): Promise<ClockSteps>;
}

/** Two processes measure one step within this, ms. */
const SAME_MS = 500;

// KEYS: the hash  ARGV: ms of the step, when, steps that the caller knows of, ms by which two may differ
// -> {1 if it is the first to see it, steps}
const RECORD = script(`
local steps, ms = unpack(redis.call('HMGET', KEYS[1], 'steps', 'ms'))
steps = tonumber(steps or '0')
if ms and steps > tonumber(ARGV[3]) and math.abs(tonumber(ms) - tonumber(ARGV[1])) <= tonumber(ARGV[4]) then
  return { 0, steps }
end
redis.call('HSET', KEYS[1], 'ms', ARGV[1], 'at', ARGV[2], 'steps', string.format('%.0f', steps + 1))
return { 1, steps + 1 }
`);
const recordedSchema = z.tuple([z.literal([0, 1]), z.int()]);
const storedSchema = z.object({
  steps: z.coerce.number().int(),
  ms: z.coerce.number().int(),
  at: z.coerce.number().int(),
});

/** Throws `redis.unreachable`. */
export function redisClock(redis: RedisClient, { prefix }: { readonly prefix: string }): RedisClock {
  const key = keysOf(prefix).redisClock;
  const read = async (): Promise<ClockSteps> => {
    const stored = storedSchema.safeParse(await asking(redis, () => redis.hgetall(key)));
    if (!stored.success) return NO_STEPS;
    const { steps, ms, at } = stored.data;
    return { steps, last: { ms, at } };
  };
  let known: Promise<number> | undefined;
  const begin = () => {
    known ??= read().then(
      ({ steps }) => steps,
      () => 0,
    );
    return known;
  };
  return {
    read,
    begin: () => void begin(),
    record: async (ms, at) => {
      const before = await begin();
      const [first, steps] = recordedSchema.parse(
        await asking(redis, () => RECORD(redis, [key], [ms, at, before, SAME_MS])),
      );
      known = Promise.resolve(steps);
      return first === 1;
    },
  };
}
