import { z } from 'zod';
import { epochMsSchema } from '../../base/time.ts';
import type { RedisClient } from '../../redis/client.ts';
import { mapRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';

const textSchema = z.string().transform(Number).pipe(epochMsSchema);
const storedSchema = z.object({
  /** When the scan ended, epoch ms. */
  at: textSchema,
  /** The oldest due slot (epoch ms) that could not be opened; null if there is none. */
  stuck: textSchema.nullable(),
});
/** The last scan of due slots by any scheduler. */
export type SchedulerHeartbeat = Readonly<z.infer<typeof storedSchema>>;

/** Stores the last scan. Throws `redis.unreachable`. */
export function redisSchedulerHeartbeats(redis: RedisClient, { prefix }: { readonly prefix: string }) {
  const key = redisKeys(prefix).looks;
  const mapped = mapRedisErrors(redis);
  return {
    record: mapped(async ({ at, stuck }: SchedulerHeartbeat) => {
      await redis.hset(key, 'at', at, 'stuck', stuck ?? '');
    }),
    /** Null before the first scan, and for an unreadable entry. */
    last: mapped(async (): Promise<SchedulerHeartbeat | null> => {
      const [at, stuck] = await redis.hmget(key, 'at', 'stuck');
      return storedSchema.safeParse({ at, stuck: stuck || null }).data ?? null;
    }),
  };
}
export type SchedulerHeartbeats = ReturnType<typeof redisSchedulerHeartbeats>;
