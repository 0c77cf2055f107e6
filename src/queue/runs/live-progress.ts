import { z } from 'zod';
import { epochMsSchema, MINUTE_MS } from '../../base/time.ts';
import { execPipeline, parseStored, type RedisClient } from '../../redis/client.ts';
import { mapRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { type LiveProgress, PROGRESS_STAGES, type RunSnapshot } from '../../run/live-progress.ts';
import { parseRecord } from './stored-record.ts';

/** Progress older than this, ms, is dropped, because its worker has stopped. */
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

/**
 * Stores the live progress of running runs, beside their records. Each method is one round trip. Throws
 * `redis.unreachable`.
 */
export function redisLiveProgress(redis: RedisClient, { prefix }: { readonly prefix: string }) {
  const keys = redisKeys(prefix);
  const mapped = mapRedisErrors(redis);
  return {
    put: mapped(async (run: string, live: LiveProgress) => {
      await redis.set(keys.live(run), JSON.stringify(live), 'PX', LIVE_TTL_MS);
    }),
    delete: mapped(async (run: string) => void (await redis.del(keys.live(run)))),
    /** The record with the latest progress; undefined for a run without a record. */
    get: mapped(async (run: string): Promise<RunSnapshot | undefined> => {
      const [fields, text] = await execPipeline(redis.pipeline().hgetall(keys.record(run)).get(keys.live(run)));
      const known = fieldsSchema.parse(fields);
      if (known.order === undefined) return undefined;
      // A newer worker may use another format.
      return { record: parseRecord(run, known), live: parseStored(liveSchema, text) ?? null };
    }),
  };
}
export type LiveProgressStore = ReturnType<typeof redisLiveProgress>;
