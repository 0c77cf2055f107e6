import { z } from 'zod';
import { epochMsSchema } from '../../base/time.ts';
import { withRedisErrors } from '../../redis/connection.ts';
import { redisKeys } from '../../redis/keys.ts';
import type { RedisClient } from '../../redis/script.ts';

/** A look at the due slots, whoever made it. */
export interface SchedulerHeartbeat {
  /** Epoch ms at which it was over. */
  readonly at: number;
  /** The oldest slot (epoch ms) that was due and could not be opened; null when there was none. */
  readonly stuck: number | null;
}

/** The last look at the due slots: what tells a deployment that opens slots from one that does not. */
export interface SchedulerHeartbeats {
  record(look: SchedulerHeartbeat): Promise<void>;
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
        // What nobody can read is as if nobody had looked, until somebody looks again.
        if (!read.success) return null;
        const [then, slot] = read.data;
        return { at: then, stuck: slot };
      }),
  };
}
