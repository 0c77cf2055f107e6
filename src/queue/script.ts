import { luaScript, runLuaScript } from '../base/lua.ts';
import type { RedisClient } from '../base/redis-client.ts';

export type { RedisClient } from '../base/redis-client.ts';

/** Runs a Lua script as one atomic step. All keys must carry the same hash tag. */
export type RunScript = (
  redis: RedisClient,
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<unknown>;

export function defineScript(lua: string): RunScript {
  const known = luaScript(lua);
  return (redis, keys, args) => runLuaScript(redis, known, keys, args);
}
