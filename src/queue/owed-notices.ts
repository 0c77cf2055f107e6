import { z } from 'zod';
import type { ErrorJson } from '../base/error.ts';
import { instantSchema } from '../base/instant.ts';
import { asking } from './connection.ts';
import { keysOf } from './keys.ts';
import type { RedisClient } from './script.ts';
import { errorSchema } from './stored-record.ts';

/** A run whose owner has to be told of its end. */
export interface OwedNotice {
  /** The run's id. */
  readonly run: string;
  /** Why it failed; null when it was delivered in part. */
  readonly error: ErrorJson | null;
  /** Epoch ms since when it is owed. */
  readonly since: number;
}

/** Notices that are not settled: written down before the first try, so that neither a crash nor a dead mail server loses one. */
export interface OwedNotices {
  /** The latest reason counts. */
  owe(notice: OwedNotice): Promise<void>;
  list(): Promise<readonly OwedNotice[]>;
  settled(run: string): Promise<void>;
}

const storedSchema = z.object({
  since: instantSchema,
  // What was written from an `ErrorJson` of another version: its code may be one that we do not have.
  error: errorSchema.nullable(),
});

/** One that nobody can read keeps nobody else from being told. It stays: a newer Docket may have written it. */
function read(run: string, text: string): OwedNotice[] {
  try {
    return [{ run, ...storedSchema.parse(JSON.parse(text)) }];
  } catch {
    return [];
  }
}

export function owedNotices(redis: RedisClient, { prefix }: { readonly prefix: string }): OwedNotices {
  const key = keysOf(prefix).notices;
  return {
    owe: ({ run, error, since }) =>
      asking(redis, async () => {
        await redis.hset(key, run, JSON.stringify({ error, since }));
      }),
    list: () =>
      asking(redis, async () => Object.entries(await redis.hgetall(key)).flatMap(([run, text]) => read(run, text))),
    settled: (run) =>
      asking(redis, async () => {
        await redis.hdel(key, run);
      }),
  };
}
