import { luaScript, runLua } from '../base/lua.ts';
import type { RedisClient } from '../base/redis-client.ts';

export type { RedisClient } from '../base/redis-client.ts';

/** Runs a Lua script as one atomic step. All keys must carry the same hash tag. */
export type Script = (
  redis: RedisClient,
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<unknown>;

export function script(lua: string): Script {
  const known = luaScript(lua);
  return (redis, keys, args) => runLua(redis, known, keys, args);
}
