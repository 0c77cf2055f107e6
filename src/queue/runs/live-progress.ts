import { z } from 'zod';
import { epochMsSchema } from '../../base/time.ts';
import { execPipeline } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/connection.ts';
import { redisKeys } from '../../redis/keys.ts';
import type { RedisClient } from '../../redis/script.ts';
import { type LiveProgress, PROGRESS_STAGES, type RunSnapshot } from '../../run/live-progress.ts';
import { parseRecord } from './stored-record.ts';

/** What workers say of the runs that they have in hand, beside the runs' records. Each method is one round trip. */
export interface LiveProgressStore {
  put(run: string, live: LiveProgress): Promise<void>;
  /** Nobody has it in hand any more. */
  delete(run: string): Promise<void>;
  /** The record, and what was said last; undefined for a run that is not on record. */
  get(run: string): Promise<RunSnapshot | undefined>;
}

/** A worker that died says nothing; this long, ms, what it said last is believed. */
const LIVE_TTL_MS = 60_000;

const liveSchema: z.ZodType<LiveProgress> = z.object({
  stage: z.enum(PROGRESS_STAGES),
  done: z.int(),
  of: z.int(),
  tokens: z.int().nullable(),
  ahead: z.int().nullable(),
  finish: epochMsSchema.nullable(),
  at: epochMsSchema,
});
const fieldsSchema = z.record(z.string(), z.string());

/** Throws `redis.unreachable` while Redis does not answer. */
export function redisLiveProgress(redis: RedisClient, { prefix }: { readonly prefix: string }): LiveProgressStore {
  const keys = redisKeys(prefix);
  return {
    put: (run, live) =>
      withRedisErrors(
        redis,
        async () => void (await redis.set(keys.live(run), JSON.stringify(live), 'PX', LIVE_TTL_MS)),
      ),

    delete: (run) => withRedisErrors(redis, async () => void (await redis.del(keys.live(run)))),

    get: (run) =>
      withRedisErrors(redis, async () => {
        const [fields, text] = await execPipeline(redis.pipeline().hgetall(keys.record(run)).get(keys.live(run)));
        const known = fieldsSchema.parse(fields);
        if (known.order === undefined) return undefined;
        return { record: parseRecord(run, known), live: typeof text === 'string' ? parseLive(text) : null };
      }),
  };
}

/** What a newer worker says in words that this process does not know is as if it were not said. */
function parseLive(text: string): LiveProgress | null {
  try {
    return liveSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
