import { z } from 'zod';
import { luaScript, runLua } from '../base/lua.ts';
import type { RedisClient } from '../base/redis-client.ts';
import { pack, unpack } from './packed.ts';
import { reachable } from './reachable.ts';
import type { ResponseStore } from './response-store.ts';

/** A run that has not ended by then never will. */
const KEEP_SECONDS = 7 * 24 * 3600;

// KEYS: the run's answers  ARGV: call, answer, seconds
const PUT = luaScript(`
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
`);

const storedSchema = z.object({
  body: z.unknown(),
  correlationId: z.string().nullable(),
  at: z.number(),
  askedBy: z.string().optional(),
});

/** Answers of runs under the worker, gzipped, one Redis hash a run; gone with `drop`, or after seven days. */
export function redisStore(redis: RedisClient, { prefix }: { readonly prefix: string }): ResponseStore {
  const key = (run: string) => `${prefix}answers:${run}`;
  return {
    get: async (run, call) => {
      const packed = await reachable(() => redis.hgetBuffer(key(run), call));
      // An entry that cannot be read is one we do not have: the call is made again.
      return packed === null ? undefined : unpack(packed, storedSchema);
    },
    put: async (run, call, answer) => {
      const packed = await pack(answer);
      await reachable(() => runLua(redis, PUT, [key(run)], [call, packed, KEEP_SECONDS]));
    },
    drop: async (run) => void (await reachable(() => redis.del(key(run)))),
  };
}
