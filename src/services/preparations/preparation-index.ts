import { z } from 'zod';
import { DAY_MS, epochMsSchema } from '../../base/time.ts';
import { parseStored, type RedisClient } from '../../redis/client.ts';
import { mapRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';

const count = z.int().nonnegative();
const statusSchema = z.object({
  org: z.string(),
  report: z.string(),
  /** The scheduled instant, epoch ms. */
  slot: epochMsSchema,
  /** The slot plus its jitter. */
  begins: epochMsSchema,
  /** Fingerprint of the API key. */
  key: z.string(),
  digest: z.string(),
  /** Number of calls in the whole plan. */
  calls: count,
  /** Number of calls whose responses are stored. */
  prepared: count,
  /** When the first of them was answered; null without any. */
  since: epochMsSchema.nullable(),
  /** When to make the next calls, epoch ms. Soon, if they only wait for a token. */
  next: epochMsSchema,
  /** Whether nothing is left to do before the slot. */
  complete: z.boolean(),
});
/** The progress of a slot's preparation. */
export type PreparationStatus = Readonly<z.infer<typeof statusSchema>>;

/** How long a slot's state and its stored responses are kept, ms. */
export const PREPARATION_TTL_MS = DAY_MS;

/** What processes share about preparations. If it is lost, the calls are made again, or by the run. */
export type PreparationIndex = ReturnType<typeof redisPreparationIndex>;

/** Keeps the index in Redis. Throws `redis.unreachable`. */
export function redisPreparationIndex(redis: RedisClient, { prefix }: { readonly prefix: string }) {
  const keys = redisKeys(prefix);
  const mapped = mapRedisErrors(redis);
  return {
    /** The preparations, by run. */
    statuses: mapped(async (): Promise<ReadonlyMap<string, PreparationStatus>> => {
      const stored = Object.entries(await redis.hgetall(keys.preparations));
      return new Map(
        stored.flatMap(([run, text]): [string, PreparationStatus][] => {
          const status = parseStored(statusSchema, text);
          return status === undefined ? [] : [[run, status]];
        }),
      );
    }),
    put: mapped(async (run: string, status: PreparationStatus): Promise<void> => {
      await redis.hset(keys.preparations, run, JSON.stringify(status));
      await redis.pexpire(keys.preparations, 3 * PREPARATION_TTL_MS);
    }),
    remove: mapped(async (runs: readonly string[]): Promise<void> => {
      if (runs.length > 0) await redis.hdel(keys.preparations, ...runs);
    }),
    /** Claims the slot for this process. False while another process has it. May be repeated with the same `by`. */
    claim: mapped(async (run: string, by: string, ttlMs: number): Promise<boolean> => {
      const key = keys.preparationClaim(run);
      if ((await redis.set(key, by, 'PX', ttlMs, 'NX')) === 'OK') return true;
      if ((await redis.get(key)) !== by) return false;
      await redis.pexpire(key, ttlMs);
      return true;
    }),
    release: mapped(async (run: string, by: string): Promise<void> => {
      const key = keys.preparationClaim(run);
      if ((await redis.get(key)) === by) await redis.del(key);
    }),
    /** True once a day for a key that the service refuses. The caller then reports it. */
    reportRefusal: mapped(
      async (key: string): Promise<boolean> =>
        (await redis.set(keys.preparationRefusal(key), '1', 'PX', DAY_MS, 'NX')) === 'OK',
    ),
  };
}
