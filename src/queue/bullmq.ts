import type { Telemetry, Worker } from 'bullmq';
import { settlesWithin } from '../base/timeout.ts';
import type { RedisClient } from '../redis/client.ts';

/** What BullMQ gets to write down what has ended, ms. */
const CLOSE_TIMEOUT_MS = 3_000;
const PING_TIMEOUT_MS = 500;

/**
 * Closes a BullMQ worker within a few seconds, also while Redis is away: BullMQ would wait for it for ever, and its
 * timers and clients would keep the process alive. Forced, it lets go at once; what it had in hand goes on elsewhere.
 *
 * @param force does not wait for jobs in hand
 */
export async function closeWorker(worker: Pick<Worker, 'close'>, redis: RedisClient, force: boolean): Promise<void> {
  const pong = redis.ping().catch(() => new Promise<never>(() => {}));
  const there = await settlesWithin(pong, PING_TIMEOUT_MS);
  await settlesWithin(worker.close(force || !there), CLOSE_TIMEOUT_MS);
}

/** What BullMQ makes spans of its own by: of each job that is taken, put back and ended. */
export type QueueTelemetry = Telemetry;

/** BullMQ's own adapter to the OpenTelemetry that this process has registered; loaded only where somebody asks for it. */
export async function queueTelemetry(): Promise<QueueTelemetry> {
  const { BullMQOtel } = await import('bullmq-otel');
  return new BullMQOtel();
}
