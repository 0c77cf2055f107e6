import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { reachable } from './reachable.ts';
import type { ResponseStore, StoredAnswer } from './response-store.ts';

const pack = promisify(gzip);
const unpack = promisify(gunzip);

/** A run that has not ended by then never will. */
const KEEP_SECONDS = 7 * 24 * 3600;

const storedSchema = z.object({ body: z.unknown(), correlationId: z.string().nullable(), at: z.number() });

/** Answers of runs under the worker, gzipped, one Redis hash a run; gone with `drop`, or after seven days. */
export function redisStore(redis: Redis, { prefix }: { readonly prefix: string }): ResponseStore {
  const key = (run: string) => `${prefix}answers:${run}`;
  return {
    get: async (run, call) => {
      const packed = await reachable(() => redis.hgetBuffer(key(run), call));
      return packed === null ? undefined : read(packed);
    },
    put: async (run, call, answer) => {
      const packed = await pack(JSON.stringify(answer));
      await reachable(() => redis.multi().hset(key(run), call, packed).expire(key(run), KEEP_SECONDS).exec());
    },
    drop: async (run) => void (await reachable(() => redis.del(key(run)))),
  };
}

/** An entry that cannot be read is one we do not have: the call is made again. */
async function read(packed: Buffer): Promise<StoredAnswer | undefined> {
  try {
    const parsed = storedSchema.safeParse(JSON.parse((await unpack(packed)).toString('utf8')));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}
