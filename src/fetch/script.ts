import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Redis } from 'ioredis';
import { DocketError } from '../base/error.ts';

/** A Lua script as Redis runs it. */
export interface Script {
  readonly lua: string;
  readonly sha1: string;
  /** From the file's name: `budget-7.lua` takes seven keys. */
  readonly keys: number;
}

/** Reads the script that stands beside the calling module, in `src/` and in `dist/` alike. */
export function loadScript(name: string, edit: (lua: string) => string = (lua) => lua): Script {
  const keys = Number(/-(\d+)\.lua$/.exec(basename(name))?.[1]);
  const lua = edit(readFileSync(fileURLToPath(new URL(name, import.meta.url)), 'utf8'));
  return { lua, sha1: createHash('sha1').update(lua).digest('hex'), keys };
}

/** Longer than a failover's pause, shorter than a person's patience. */
const REDIS_DEADLINE_MS = 5_000;

/** Runs the script. `redis.unreachable` when Redis refuses, or does not answer in time (a client queues while it is away). */
export async function runScript(
  redis: Redis,
  script: Script,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown> {
  return reachable(async () => {
    try {
      return await redis.evalsha(script.sha1, script.keys, ...keys, ...args);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return await redis.eval(script.lua, script.keys, ...keys, ...args);
    }
  });
}

/** Asks Redis something, within a deadline: any failure to answer is `redis.unreachable`. */
export async function reachable<T>(ask: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${REDIS_DEADLINE_MS} ms`)), REDIS_DEADLINE_MS);
  });
  try {
    return await Promise.race([ask(), late]);
  } catch (cause) {
    throw new DocketError(
      'redis.unreachable',
      `Redis did not answer, so nothing was called: ${cause instanceof Error ? cause.message : String(cause)}.`,
      { next: 'Check that the Redis of REDIS_URL runs and can be reached; the run goes on where it stopped.', cause },
    );
  } finally {
    clearTimeout(timer);
  }
}
