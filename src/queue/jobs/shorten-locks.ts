import { z } from 'zod';
import type { Log } from '../../base/log.ts';
import type { RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';
import { RUN_QUEUE_NAME, TICK_QUEUE_NAME } from '../bullmq.ts';

/** What workers set: `lockDuration` and `stalledInterval` of `startWorker`, and BullMQ's own of the ticks. */
const LOCK_MS = 30_000;
/** Longer than any lock lasts, however slow Redis was with the command. */
const MAX_LOCK_MS = 2 * LOCK_MS;

/**
 * A step for `startPeriodicTasks`: ends locks that a step back of Redis' clock has made longer. Until they end, no worker
 * takes over a run whose worker died. Rejects with `redis.unreachable`.
 */
export function createLockShortener(
  redis: RedisClient,
  { prefix, log }: { readonly prefix: string; readonly log: Log },
): () => Promise<void> {
  const script = loadLuaScript('./shorten-locks-1.lua', import.meta.url);
  return async () => {
    let count = 0;
    for (const name of [RUN_QUEUE_NAME, TICK_QUEUE_NAME]) {
      const queue = `${redisKeys(prefix).bull}:${name}:`;
      const run = () => runLuaScript(redis, script, [queue], [MAX_LOCK_MS, LOCK_MS]);
      count += z.int().parse(await withRedisErrors(redis, run));
    }
    if (count > 0) log.warn('The clock of Redis was set back: locks of the queue were shortened', { count });
  };
}
