import { z } from 'zod';
import { instantSchema } from '../base/instant.ts';
import { asking } from './connection.ts';
import { keysOf } from './keys.ts';
import type { RedisClient } from './script.ts';

/** A look at the due slots, whoever made it. */
export interface Look {
  /** Epoch ms at which it was over. */
  readonly at: number;
  /** The oldest slot (epoch ms) that was due and could not be opened; null when there was none. */
  readonly stuck: number | null;
}

/** The last look at the due slots: what tells a deployment that opens slots from one that does not. */
export interface Looks {
  tell(look: Look): Promise<void>;
  /** Null before the first. */
  last(): Promise<Look | null>;
}

const textSchema = z.coerce.number().int().pipe(instantSchema);
const storedSchema = z.tuple([textSchema, z.union([z.null(), textSchema])]);

/** Throws `redis.unreachable`. */
export function redisLooks(redis: RedisClient, { prefix }: { readonly prefix: string }): Looks {
  const key = keysOf(prefix).looks;
  return {
    tell: ({ at, stuck }) =>
      asking(redis, async () => {
        await redis.hset(key, 'at', at, 'stuck', stuck ?? '');
      }),
    last: () =>
      asking(redis, async () => {
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
