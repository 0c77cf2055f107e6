import { setTimeout as sleep } from 'node:timers/promises';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { retryAfterMs } from '../retry-after.mjs';

/**
 * BullMQ's own limiter, one queue for all processes. After a 429 the queue is rate-limited by hand for as long as the
 * service says, as BullMQ's documentation has it (docs.bullmq.io/guide/rate-limiting, "Manual rate-limit").
 */
export async function make({ redis, redisUrl, prefix, limit, windowMs, workers, ids, total, call, keep, answered }) {
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const at = { connection, prefix: `${prefix}bull`.replaceAll(':', '-') };
  const queue = new Queue('calls', at);
  await queue.addBulk(ids.map((id) => ({ name: 'call', data: { id }, opts: { jobId: id, attempts: 3 } })));
  const worker = new Worker(
    'calls',
    async ({ data }) => {
      try {
        await call();
      } catch (error) {
        const wait = retryAfterMs(error);
        if (wait === undefined) throw error;
        await queue.rateLimit(wait);
        throw Worker.RateLimitError();
      }
      await keep(data.id);
    },
    // As many under way in all processes together as a window lets through, so that latency is never what limits it;
    // and a job may be lost to a killed process more often than once.
    {
      ...at,
      limiter: { max: limit, duration: windowMs },
      concurrency: Math.ceil(limit / workers),
      maxStalledCount: 99,
    },
  );
  worker.on('error', () => {});
  while ((await answered(redis)) < total) await sleep(100);
  await worker.close();
  await queue.close();
  connection.disconnect();
}
