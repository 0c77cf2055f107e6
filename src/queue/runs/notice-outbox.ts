import { z } from 'zod';
import type { ErrorJson } from '../../base/error.ts';
import { epochMsSchema } from '../../base/time.ts';
import { withRedisErrors } from '../../redis/connection.ts';
import { redisKeys } from '../../redis/keys.ts';
import type { RedisClient } from '../../redis/script.ts';
import { errorSchema } from './stored-record.ts';

/** A run whose owner has to be told of its end. */
export interface PendingNotice {
  /** The run's id. */
  readonly run: string;
  /** Why it failed; null when it was delivered in part. */
  readonly error: ErrorJson | null;
  /** Epoch ms since when it is owed. */
  readonly since: number;
}

/** Notices that are not settled: written down before the first try, so that neither a crash nor a dead mail server loses one. */
export interface NoticeOutbox {
  /** The latest reason counts. */
  enqueue(notice: PendingNotice): Promise<void>;
  list(): Promise<readonly PendingNotice[]>;
  delete(run: string): Promise<void>;
}

const storedSchema = z.object({
  since: epochMsSchema,
  // What was written from an `ErrorJson` of another version: its code may be one that we do not have.
  error: errorSchema.nullable(),
});

/** One that nobody can read keeps nobody else from being told. It stays: a newer Docket may have written it. */
function parseNotice(run: string, text: string): PendingNotice[] {
  try {
    return [{ run, ...storedSchema.parse(JSON.parse(text)) }];
  } catch {
    return [];
  }
}

export function redisNoticeOutbox(redis: RedisClient, { prefix }: { readonly prefix: string }): NoticeOutbox {
  const key = redisKeys(prefix).notices;
  return {
    enqueue: ({ run, error, since }) =>
      withRedisErrors(redis, async () => {
        await redis.hset(key, run, JSON.stringify({ error, since }));
      }),
    list: () =>
      withRedisErrors(redis, async () =>
        Object.entries(await redis.hgetall(key)).flatMap(([run, text]) => parseNotice(run, text)),
      ),
    delete: (run) =>
      withRedisErrors(redis, async () => {
        await redis.hdel(key, run);
      }),
  };
}
