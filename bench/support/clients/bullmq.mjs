import { setTimeout as sleep } from 'node:timers/promises';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { retryAfterMs } from '../retry-after.mjs';

/**
 * BullMQ's own limiter, with one queue for all processes. After a 429, the queue is rate-limited manually for as long
 * as the service says, as BullMQ documents it (docs.bullmq.io/guide/rate-limiting, "Manual rate-limit").
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
    // All processes together run as many jobs at once as a window allows, so that latency is never the limit. A job may
    // be lost with a killed process more than once.
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
