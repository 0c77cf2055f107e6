import { Queue } from 'bullmq';
import { asking } from './connection.ts';
import { RUNS } from './jobs.ts';
import { keysOf } from './keys.ts';
import type { RedisClient } from './script.ts';

/**
 * Workers that are connected now, by the names of their connections. Undefined where the server does not tell them
 * (hosted ones often forbid CLIENT LIST). Throws `redis.unreachable`.
 */
export async function workersSeen(
  redis: RedisClient,
  { prefix }: { readonly prefix: string },
): Promise<number | undefined> {
  const queue = new Queue(RUNS, { connection: redis, prefix: keysOf(prefix).bull });
  queue.on('error', () => {});
  try {
    const workers = await asking(redis, () => queue.getWorkers());
    // What BullMQ says where it may not ask.
    return workers.some(({ name }) => name === 'GCP does not support client list') ? undefined : workers.length;
  } finally {
    await queue.close();
  }
}
