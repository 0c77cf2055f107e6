import { z } from 'zod';
import { instantSchema } from '../base/instant.ts';
import { LIVE_STAGES, type RunLive, type RunNews } from '../run/live.ts';
import { asking } from './connection.ts';
import { keysOf } from './keys.ts';
import { repliesOf } from './pipeline.ts';
import type { RedisClient } from './script.ts';
import { recordOf } from './stored-record.ts';

/** What workers say of the runs that they have in hand, beside the runs' records. Each method is one round trip. */
export interface LiveRuns {
  tell(run: string, live: RunLive): Promise<void>;
  /** Nobody has it in hand any more. */
  forget(run: string): Promise<void>;
  /** The record, and what was said last; undefined for a run that is not on record. */
  read(run: string): Promise<RunNews | undefined>;
}

/** A worker that died says nothing; this long, ms, what it said last is believed. */
const KEEP_MS = 60_000;

const liveSchema: z.ZodType<RunLive> = z.object({
  stage: z.enum(LIVE_STAGES),
  done: z.int(),
  of: z.int(),
  tokens: z.int().nullable(),
  ahead: z.int().nullable(),
  finish: instantSchema.nullable(),
  at: instantSchema,
});
const fieldsSchema = z.record(z.string(), z.string());

/** Throws `redis.unreachable` while Redis does not answer. */
export function redisLive(redis: RedisClient, { prefix }: { readonly prefix: string }): LiveRuns {
  const keys = keysOf(prefix);
  return {
    tell: (run, live) =>
      asking(redis, async () => void (await redis.set(keys.live(run), JSON.stringify(live), 'PX', KEEP_MS))),

    forget: (run) => asking(redis, async () => void (await redis.del(keys.live(run)))),

    read: (run) =>
      asking(redis, async () => {
        const [fields, text] = await repliesOf(redis.pipeline().hgetall(keys.record(run)).get(keys.live(run)));
        const known = fieldsSchema.parse(fields);
        if (known.order === undefined) return undefined;
        return { record: recordOf(run, known), live: typeof text === 'string' ? readLive(text) : null };
      }),
  };
}

/** What a newer worker says in words that this process does not know is as if it were not said. */
function readLive(text: string): RunLive | null {
  try {
    return liveSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
