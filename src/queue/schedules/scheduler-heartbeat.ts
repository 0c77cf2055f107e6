import { z } from 'zod';
import { epochMsSchema } from '../../base/time.ts';
import type { RedisClient } from '../../redis/client.ts';
import { mapRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';

const textSchema = z.string().transform(Number).pipe(epochMsSchema);
const storedSchema = z.object({
  /** Epoch ms of its end. */
  at: textSchema,
  /** The oldest due slot (epoch ms) that could not be opened; null without one. */
  stuck: textSchema.nullable(),
});
/** The last scan of due slots, by any scheduler. */
export type SchedulerHeartbeat = Readonly<z.infer<typeof storedSchema>>;

/** Throws `redis.unreachable`. */
export function redisSchedulerHeartbeats(redis: RedisClient, { prefix }: { readonly prefix: string }) {
  const key = redisKeys(prefix).looks;
  const mapped = mapRedisErrors(redis);
  return {
    record: mapped(async ({ at, stuck }: SchedulerHeartbeat) => {
      await redis.hset(key, 'at', at, 'stuck', stuck ?? '');
    }),
    /** Null before the first, and for an unreadable one. */
    last: mapped(async (): Promise<SchedulerHeartbeat | null> => {
      const [at, stuck] = await redis.hmget(key, 'at', 'stuck');
      return storedSchema.safeParse({ at, stuck: stuck || null }).data ?? null;
    }),
  };
}
export type SchedulerHeartbeats = ReturnType<typeof redisSchedulerHeartbeats>;
