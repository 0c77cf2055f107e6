import { z } from 'zod';
import { epochMsSchema, MINUTE_MS } from '../../base/time.ts';
import { execPipeline, type RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { type LiveProgress, PROGRESS_STAGES, type RunSnapshot } from '../../run/live-progress.ts';
import { parseRecord } from './stored-record.ts';

/** Live progress of running runs, stored beside their records. Each method is one round trip. */
export interface LiveProgressStore {
  put(run: string, live: LiveProgress): Promise<void>;
  delete(run: string): Promise<void>;
  /** The record and the latest progress; undefined for a run without a record. */
  get(run: string): Promise<RunSnapshot | undefined>;
}

/** Progress older than this, ms, is dropped: its worker has stopped. */
const LIVE_TTL_MS = MINUTE_MS;

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

/** Throws `redis.unreachable`. */
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

/** Null for an unknown format, e.g. of a newer worker. */
function parseLive(text: string): LiveProgress | null {
  try {
    return liveSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
