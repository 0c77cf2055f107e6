import { type JobsOptions, Queue } from 'bullmq';
import { z } from 'zod';
import { DocketError } from '../base/error.ts';
import type { RunOrder } from '../run/record.ts';
import { asking } from './connection.ts';
import { keysOf } from './keys.ts';
import { clearLost, findLost } from './lost-jobs.ts';
import type { RedisClient } from './script.ts';
import { takeTurn } from './turns.ts';

/** The queue of runs. */
export const RUNS = 'runs';
/** The tiny queue in which BullMQ's job schedulers tick. */
export const TICKS = 'ticks';

/**
 * Tries of a run before it fails for good; a snooze is none. With `backoffMs` between them they last between one and two
 * hours: an outage of the API or of a mail server is over by then, or is somebody's concern already.
 */
export const ATTEMPTS = 12;

/** A job carries the run's id, and its organization as its name: what to do is in the record, which only we write. */
export const runJobSchema = z.object({ run: z.string().regex(/^[0-9a-f]{32}$/) });

const HOUR_S = 3_600;
const OPTIONS: JobsOptions = {
  attempts: ATTEMPTS,
  // The worker computes the delay of each retry and tells it by the error it throws.
  backoff: { type: 'custom' },
  removeOnComplete: { age: 24 * HOUR_S, count: 1_000 },
  removeOnFail: { age: 7 * 24 * HOUR_S, count: 5_000 },
  // A stack trace may quote values; the record has the error as a person may read it.
  stackTraceLimit: 0,
  sizeLimit: 256,
};

/** Runs in the queue by the state of their job: snoozed and backing off are `delayed`; `failed` ones are kept for a week. */
export interface QueueCounts {
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
  readonly failed: number;
}

/** What the queue has to know of a run. */
export type Queued = Pick<RunOrder, 'id' | 'org' | 'priority' | 'traceparent'>;

/** Where runs are put for the workers. */
export interface RunQueue {
  /** Puts the run in line; one that is there already stays as it is. */
  add(order: Queued, delayMs?: number): Promise<void>;
  /** Which of these runs the queue has no live job for: none at all, one that ended, or one that is in no list. */
  lost(ids: readonly string[]): Promise<readonly string[]>;
  /** Puts a run in line again whose job ended or was lost. */
  revive(order: Queued): Promise<void>;
  /** Takes a run out of the line; false while a worker has it in hand. */
  remove(id: string): Promise<boolean>;
  counts(): Promise<QueueCounts>;
  close(): Promise<void>;
}

/** @param redis a producer's client; it stays its owner's to close */
export function runQueue(redis: RedisClient, { prefix }: { readonly prefix: string }): RunQueue {
  const keys = keysOf(prefix);
  const open = (): Queue => {
    const queue = new Queue(RUNS, { connection: redis, prefix: keys.bull });
    // BullMQ repeats what the client says, whose owner listens to it.
    queue.on('error', () => {});
    return queue;
  };
  let queue = open();
  // BullMQ greets Redis once: of one that was away at that moment it would say so for ever.
  const greeted = async (): Promise<Queue> => {
    const current = queue;
    try {
      await current.waitUntilReady();
      return current;
    } catch (error) {
      if (queue === current) queue = open();
      await current.close().catch(() => {});
      throw error;
    }
  };
  const add = async (order: Queued, delayMs = 0) => {
    const queue = await greeted();
    const places = { prioritized: queue.toKey('prioritized'), job: queue.toKey(order.id) };
    const priority = await takeTurn(redis, keys, places, order);
    if (priority === undefined) return;
    const { traceparent } = order;
    await queue.add(
      order.org,
      { run: order.id },
      {
        ...OPTIONS,
        jobId: order.id,
        priority,
        delay: delayMs,
        // As BullMQ's own telemetry keeps it: also a job that was lost and is put in line again is in its run's trace.
        ...(traceparent === undefined ? {} : { telemetry: { metadata: JSON.stringify({ traceparent }) } }),
      },
    );
  };
  return {
    add: (order, delayMs) => asking(redis, () => add(order, delayMs)),
    lost: (ids) => asking(redis, () => findLost(redis, queue.toKey(''), ids)),
    revive: (order) =>
      asking(redis, async () => {
        // `add` finds what is left of a job of this id and does nothing; a live one stays as it is.
        await clearLost(redis, queue.toKey(''), order.id);
        await add(order);
      }),
    remove: (id) => asking(redis, async () => (await (await greeted()).remove(id)) === 1),
    counts: () =>
      asking(redis, async () => {
        const counted = await (await greeted()).getJobCounts('waiting', 'prioritized', 'active', 'delayed', 'failed');
        const { waiting = 0, prioritized = 0, active = 0, delayed = 0, failed = 0 } = counted;
        return { waiting: waiting + prioritized, active, delayed, failed };
      }),
    close: () => queue.close(),
  };
}

/** Reads a job's data; throws `internal.defect` for a job that Docket did not make. */
export function readRunJob(data: unknown): { readonly run: string } {
  const parsed = runJobSchema.safeParse(data);
  if (parsed.success) return parsed.data;
  throw new DocketError('internal.defect', 'A job of the queue is not one of ours.', {
    expected: '{ run: 32 hex digits }',
    next: 'Find out who else writes to this Redis under the same prefix.',
    retryable: false,
  });
}
