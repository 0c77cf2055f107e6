import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RedisClient } from './client.ts';

/** A Lua script. Redis runs it as one atomic step. On a Cluster, all its keys must have the same hash tag. */
export interface LuaScript {
  readonly lua: string;
  readonly sha1: string;
}

export const luaScript = (lua: string): LuaScript => ({ lua, sha1: createHash('sha1').update(lua).digest('hex') });

/**
 * Reads a `.lua` file. Replaces each line `-- @include <path>` by that file, once per script. Paths are relative to the
 * file with the line.
 *
 * @param path relative to `base`
 * @param base `import.meta.url` of the caller; the files lie beside it in `src/` and in `dist/` alike
 */
export const loadLuaScript = (path: string, base: string): LuaScript =>
  luaScript(readLua(new URL(path, base), new Set()));

const INCLUDE = /^-- @include (\S+)$/gm;

function readLua(url: URL, included: Set<string>): string {
  return readFileSync(url, 'utf8').replaceAll(INCLUDE, (_, path: string) => {
    const target = new URL(path, url);
    if (included.has(target.href)) return '';
    included.add(target.href);
    return readLua(target, included);
  });
}

/**
 * Runs a script by its SHA-1. Sends the text only to a server that does not know it, e.g. after a restart or failover.
 */
export async function runLuaScript(
  redis: RedisClient,
  { lua, sha1 }: LuaScript,
  keys: readonly string[],
  args: readonly (string | number | Buffer)[] = [],
): Promise<unknown> {
  try {
    return await redis.evalsha(sha1, keys.length, ...keys, ...args);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
    return await redis.eval(lua, keys.length, ...keys, ...args);
  }
}
