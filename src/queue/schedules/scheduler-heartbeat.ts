import { z } from 'zod';
import { epochMsSchema } from '../../base/time.ts';
import type { RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';

/** The last scan of due slots, by any scheduler. */
export interface SchedulerHeartbeat {
  /** Epoch ms of its end. */
  readonly at: number;
  /** The oldest due slot (epoch ms) that could not be opened; null without one. */
  readonly stuck: number | null;
}

export interface SchedulerHeartbeats {
  record(scan: SchedulerHeartbeat): Promise<void>;
  /** Null before the first. */
  last(): Promise<SchedulerHeartbeat | null>;
}

const textSchema = z.coerce.number().int().pipe(epochMsSchema);
const storedSchema = z.tuple([textSchema, z.union([z.null(), textSchema])]);

/** Throws `redis.unreachable`. */
export function redisSchedulerHeartbeats(
  redis: RedisClient,
  { prefix }: { readonly prefix: string },
): SchedulerHeartbeats {
  const key = redisKeys(prefix).looks;
  return {
    record: ({ at, stuck }) =>
      withRedisErrors(redis, async () => {
        await redis.hset(key, 'at', at, 'stuck', stuck ?? '');
      }),
    last: () =>
      withRedisErrors(redis, async () => {
        const [at, stuck] = await redis.hmget(key, 'at', 'stuck');
        if (at == null) return null;
        const read = storedSchema.safeParse([at, stuck || null]);
        // Unreadable: as before the first scan.
        if (!read.success) return null;
        const [then, slot] = read.data;
        return { at: then, stuck: slot };
      }),
  };
}
