import type { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { Queue } from 'bullmq';
import { redisFailure } from './connection.ts';
import { RUNS, TICKS } from './jobs.ts';
import { keysOf } from './keys.ts';
import type { RedisClient } from './script.ts';

/** Our queues as Bull Board takes them: to be looked at. */
export interface BoardQueues {
  readonly adapters: readonly BullMQAdapter[];
  /** What a question to Redis threw, as `redisFailure` says. */
  readonly failure: (thrown: unknown) => unknown;
  close(): Promise<void>;
}

/**
 * @param redis a producer's client; it stays its owner's to close
 * @param Adapter Bull Board's own, which is loaded only where it is wanted
 * @param pageOf the address of a run's page
 */
export function boardQueues(
  redis: RedisClient,
  {
    prefix,
    Adapter,
    pageOf,
  }: { readonly prefix: string; readonly Adapter: typeof BullMQAdapter; readonly pageOf: (run: string) => string },
): BoardQueues {
  const open = (name: string): Queue => {
    // Whoever only looks leaves no word of its own in the queue's settings.
    const queue = new Queue(name, { connection: redis, prefix: keysOf(prefix).bull, skipMetasUpdate: true });
    // BullMQ repeats what the client says, whose owner listens to it.
    queue.on('error', () => {});
    return queue;
  };
  const [runs, ticks] = [open(RUNS), open(TICKS)];
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
    failure: (thrown) => redisFailure(redis, thrown),
    close: async () => {
      await Promise.all([runs.close(), ticks.close()]);
    },
  };
}
