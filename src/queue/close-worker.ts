import type { Worker } from 'bullmq';
import type { RedisClient } from './script.ts';
import { within } from './within.ts';

/** What BullMQ gets to write down what has ended, ms. */
const CLOSE_MS = 3_000;
const PING_MS = 500;

/**
 * Closes a BullMQ worker within a few seconds, also while Redis is away: BullMQ would wait for it for ever, and its
 * timers and clients would keep the process alive. Forced, it lets go at once; what it had in hand goes on elsewhere.
 *
 * @param force does not wait for jobs in hand
 */
export async function closeWorker(worker: Pick<Worker, 'close'>, redis: RedisClient, force: boolean): Promise<void> {
  const pong = redis.ping().catch(() => new Promise<never>(() => {}));
  const there = await within(pong, PING_MS);
  await within(worker.close(force || !there), CLOSE_MS);
}
