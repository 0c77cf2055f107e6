import { z } from 'zod';
import type { Log } from '../base/log.ts';
import { readLua, runLua } from '../base/lua.ts';
import { asking } from './connection.ts';
import { RUNS, TICKS } from './jobs.ts';
import { keysOf } from './keys.ts';
import type { RedisClient } from './script.ts';

/** What workers set: `lockDuration` and `stalledInterval` of `startWorker`, and BullMQ's own of the ticks. */
const LOCK_MS = 30_000;
/** Longer than any lock lasts, however slow Redis was with the command. */
const MAX_LOCK_MS = 2 * LOCK_MS;

/**
 * A step for `startReconciler`: ends locks that a step back of Redis' clock has made longer. Until they end, no worker
 * takes over a run whose worker died. Rejects with `redis.unreachable`.
 */
export function lockShortener(
  redis: RedisClient,
  { prefix, log }: { readonly prefix: string; readonly log: Log },
): () => Promise<void> {
  const script = readLua('./shorten-locks-1.lua', import.meta.url);
  return async () => {
    let count = 0;
    for (const name of [RUNS, TICKS]) {
      const queue = `${keysOf(prefix).bull}:${name}:`;
      const run = () => runLua(redis, script, [queue], [MAX_LOCK_MS, LOCK_MS]);
      count += z.int().parse(await asking(redis, run));
    }
    if (count > 0) log.warn('The clock of Redis was set back: locks of the queue were shortened', { count });
  };
}
