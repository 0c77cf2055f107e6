import type { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { Queue } from 'bullmq';
import type { RedisClient } from '../redis/client.ts';
import { toRedisError } from '../redis/errors.ts';
import { redisKeys } from '../redis/keys.ts';
import { RUN_QUEUE_NAME, TICK_QUEUE_NAME } from './jobs/run-queue.ts';

/** Our queues as Bull Board takes them: to be looked at. */
export interface BullBoardQueues {
  readonly adapters: readonly BullMQAdapter[];
  /** What a question to Redis threw, as `redisFailure` says. */
  readonly toRedisError: (thrown: unknown) => unknown;
  close(): Promise<void>;
}

/**
 * @param redis a producer's client; it stays its owner's to close
 * @param Adapter Bull Board's own, which is loaded only where it is wanted
 * @param pageOf the address of a run's page
 */
export function openBullBoardQueues(
  redis: RedisClient,
  {
    prefix,
    Adapter,
    pageOf,
  }: { readonly prefix: string; readonly Adapter: typeof BullMQAdapter; readonly pageOf: (run: string) => string },
): BullBoardQueues {
  const open = (name: string): Queue => {
    // Whoever only looks leaves no word of its own in the queue's settings.
    const queue = new Queue(name, { connection: redis, prefix: redisKeys(prefix).bull, skipMetasUpdate: true });
    // BullMQ repeats what the client says, whose owner listens to it.
    queue.on('error', () => {});
    return queue;
  };
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
        description: 'Timetables: a tick makes a scheduler look for due slots.',
      }),
    ],
    toRedisError: (thrown) => toRedisError(thrown, { server: redis }),
    close: async () => {
      await Promise.all([runs.close(), ticks.close()]);
    },
  };
}
