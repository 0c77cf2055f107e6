import { Queue, type QueueOptions, type Telemetry, type Worker } from 'bullmq';
import { settlesWithin } from '../base/concurrency.ts';
import { SECOND_MS } from '../base/time.ts';
import type { RedisClient } from '../redis/client.ts';
import { redisKeys } from '../redis/keys.ts';

export const RUN_QUEUE_NAME = 'runs';
/** Name of the queue to which BullMQ's job schedulers add a job for each tick. */
export const TICK_QUEUE_NAME = 'ticks';

/** Time for BullMQ to write the results of ended jobs, ms. */
const CLOSE_TIMEOUT_MS = 3 * SECOND_MS;
const PING_TIMEOUT_MS = 500;

/** @param redis a producer's client. The caller closes it, and listens to its errors, which BullMQ repeats */
export function openQueue<Data = unknown>(
  redis: RedisClient,
  prefix: string,
  name: string,
  options: Omit<QueueOptions, 'connection' | 'prefix'> = {},
): Queue<Data, void, string> {
  const queue = new Queue<Data, void, string>(name, { ...options, connection: redis, prefix: redisKeys(prefix).bull });
  queue.on('error', () => {});
  return queue;
}

/**
 * Closes a BullMQ worker within a few seconds, even while Redis is unreachable. BullMQ alone would wait for Redis
 * forever, and its timers and clients would keep the process alive.
 *
 * @param force does not wait for active jobs; other workers continue them
 */
export async function closeWorker(worker: Pick<Worker, 'close'>, redis: RedisClient, force: boolean): Promise<void> {
  const pong = redis.ping().catch(() => new Promise<never>(() => {}));
  const reachable = await settlesWithin(pong, PING_TIMEOUT_MS);
  await settlesWithin(worker.close(force || !reachable), CLOSE_TIMEOUT_MS);
}

/** Creates BullMQ's spans, for each job that is taken, requeued or completed. */
export type QueueTelemetry = Telemetry;

/** BullMQ's adapter to the registered OpenTelemetry. Loaded only if traces are exported. */
export async function queueTelemetry(): Promise<QueueTelemetry> {
  const { BullMQOtel } = await import('bullmq-otel');
  return new BullMQOtel();
}
