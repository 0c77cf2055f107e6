import { createHash } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';

/** A client that stores speak through: one server, a Sentinel group or a Cluster. */
export type RedisClient = Redis | Cluster;

/** Runs a Lua script as one atomic step. All keys must carry the same hash tag. */
export type Script = (
  redis: RedisClient,
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<unknown>;

/** Sends the script's digest, and its text only to a server that does not know it yet (a restart, a failover). */
export function script(lua: string): Script {
  const digest = createHash('sha1').update(lua).digest('hex');
  return async (redis, keys, args) => {
    try {
      return await redis.evalsha(digest, keys.length, ...keys, ...args);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return await redis.eval(lua, keys.length, ...keys, ...args);
    }
  };
}
