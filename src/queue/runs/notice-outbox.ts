import { z } from 'zod';
import type { ErrorJson } from '../../base/error.ts';
import { epochMsSchema } from '../../base/time.ts';
import type { RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { errorSchema } from './stored-record.ts';

/** A pending notice to a run's owner about its end. */
export interface PendingNotice {
  /** The run's id. */
  readonly run: string;
  /** Why it failed; null when it was delivered in part. */
  readonly error: ErrorJson | null;
  /** Epoch ms since when it is pending. */
  readonly since: number;
}

/** Notices that are not settled. Stored before the first attempt, so that neither a crash nor a mail outage loses one. */
export interface NoticeOutbox {
  /** Replaces an earlier notice of the run. */
  enqueue(notice: PendingNotice): Promise<void>;
  list(): Promise<readonly PendingNotice[]>;
  delete(run: string): Promise<void>;
}

const storedSchema = z.object({
  since: epochMsSchema,
  error: errorSchema.nullable(),
});

/** Empty for an unreadable notice, which must not block the others. It stays stored: a newer Docket may have written it. */
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
