import type { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import type { RedisClient } from '../redis/client.ts';
import { toRedisError } from '../redis/errors.ts';
import { openQueue, RUN_QUEUE_NAME, TICK_QUEUE_NAME } from './bullmq.ts';

/**
 * Opens the queues for Bull Board, read-only.
 *
 * @param redis a producer's client; the caller closes it
 * @param Adapter Bull Board's adapter; the caller loads it
 * @param pageOf makes the URL of a run's page
 */
export function openBullBoardQueues(
  redis: RedisClient,
  options: {
    readonly prefix: string;
    readonly Adapter: typeof BullMQAdapter;
    readonly pageOf: (run: string) => string;
  },
) {
  const { prefix, Adapter, pageOf } = options;
  // Readers must not write the queue's settings.
  const open = (name: string) => openQueue(redis, prefix, name, { skipMetasUpdate: true });
  const [runs, ticks] = [open(RUN_QUEUE_NAME), open(TICK_QUEUE_NAME)];
  return {
    adapters: [
      new Adapter(runs, {
        readOnlyMode: true,
        description: 'A job is a run; its name is the organization.',
        externalJobUrl: ({ id }) => ({ displayText: 'Run', href: pageOf(String(id)) }),
      }),
      new Adapter(ticks, { readOnlyMode: true, description: 'Each tick makes a scheduler scan for due slots.' }),
    ],
    /** Converts a Redis error that a queue threw. */
    toRedisError: (thrown: unknown) => toRedisError(thrown, { server: redis }),
    close: async (): Promise<void> => {
      await Promise.all([runs.close(), ticks.close()]);
    },
  };
}
