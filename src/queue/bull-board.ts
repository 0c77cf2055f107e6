import type { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import type { RedisClient } from '../redis/client.ts';
import { toRedisError } from '../redis/errors.ts';
import { openQueue, RUN_QUEUE_NAME, TICK_QUEUE_NAME } from './bullmq.ts';

/** The queues for Bull Board, read-only. */
export interface BullBoardQueues {
  readonly adapters: readonly BullMQAdapter[];
  /** Maps a Redis error that a queue threw. */
  readonly toRedisError: (thrown: unknown) => unknown;
  close(): Promise<void>;
}

/**
 * @param redis a producer's client; the caller closes it
 * @param Adapter Bull Board's adapter; the caller loads it
 * @param pageOf the URL of a run's page
 */
export function openBullBoardQueues(
  redis: RedisClient,
  {
    prefix,
    Adapter,
    pageOf,
  }: { readonly prefix: string; readonly Adapter: typeof BullMQAdapter; readonly pageOf: (run: string) => string },
): BullBoardQueues {
  // A reader does not write the queue's settings.
  const open = (name: string) => openQueue(redis, prefix, name, { skipMetasUpdate: true });
  const [runs, ticks] = [open(RUN_QUEUE_NAME), open(TICK_QUEUE_NAME)];
  return {
    adapters: [
      new Adapter(runs, {
        readOnlyMode: true,
        description: 'A job is a run; its name is the organization.',
        externalJobUrl: ({ id }) => ({ displayText: 'Run', href: pageOf(String(id)) }),
      }),
      new Adapter(ticks, {
        readOnlyMode: true,
        description: 'Each tick makes a scheduler scan for due slots.',
      }),
    ],
    toRedisError: (thrown) => toRedisError(thrown, { server: redis }),
    close: async () => {
      await Promise.all([runs.close(), ticks.close()]);
    },
  };
}
