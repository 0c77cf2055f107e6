import { z } from 'zod';
import type { ErrorJson } from '../../base/error.ts';
import { epochMsSchema } from '../../base/time.ts';
import { parseStored, type RedisClient } from '../../redis/client.ts';
import { mapRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { errorSchema } from './stored-record.ts';

/** A pending notice to a run's owner about its end. */
export interface PendingNotice {
  /** The run's id. */
  readonly run: string;
  /** Why the run failed; null if it was partly delivered. */
  readonly error: ErrorJson | null;
  /** When the notice was requested, epoch ms. */
  readonly since: number;
}

const storedSchema = z.object({ since: epochMsSchema, error: errorSchema.nullable() });

/**
 * Stores notices that are not settled. A notice is stored before its first attempt, so that neither a crash nor a mail
 * outage loses it.
 */
export function redisNoticeOutbox(redis: RedisClient, { prefix }: { readonly prefix: string }) {
  const key = redisKeys(prefix).notices;
  const mapped = mapRedisErrors(redis);
  return {
    /** Replaces an earlier notice of the run. */
    enqueue: mapped(async ({ run, error, since }: PendingNotice) => {
      await redis.hset(key, run, JSON.stringify({ error, since }));
    }),
    /**
     * Leaves out unreadable notices, which must not block the others. They stay stored: a newer Docket may have written
     * them.
     */
    list: mapped(async (): Promise<readonly PendingNotice[]> => {
      const notices = Object.entries(await redis.hgetall(key));
      return notices.flatMap(([run, text]) => {
        const stored = parseStored(storedSchema, text);
        return stored === undefined ? [] : [{ run, ...stored }];
      });
    }),
    delete: mapped(async (run: string) => {
      await redis.hdel(key, run);
    }),
  };
}
export type NoticeOutbox = ReturnType<typeof redisNoticeOutbox>;
