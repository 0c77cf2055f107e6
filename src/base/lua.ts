import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RedisClient } from './redis-client.ts';

/** A Lua script as Redis runs it: one atomic step. */
export interface LuaScript {
  readonly lua: string;
  readonly sha1: string;
}

export const luaScript = (lua: string): LuaScript => ({ lua, sha1: createHash('sha1').update(lua).digest('hex') });

/** Reads the script that stands beside the calling module, in `src/` and in `dist/` alike. */
export const readLua = (name: string, beside: string): LuaScript =>
  luaScript(readFileSync(new URL(name, beside), 'utf8'));

/** Sends the script's digest, and its text only to a server that does not know it yet (a restart, a failover). */
export async function runLua(
  redis: Pick<RedisClient, 'evalsha' | 'eval'>,
  { lua, sha1 }: LuaScript,
  keys: readonly string[],
  args: readonly (string | number | Buffer)[],
): Promise<unknown> {
  try {
    return await redis.evalsha(sha1, keys.length, ...keys, ...args);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
    return await redis.eval(lua, keys.length, ...keys, ...args);
  }
}
