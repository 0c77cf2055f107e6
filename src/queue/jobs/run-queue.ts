import { type JobsOptions, Queue } from 'bullmq';
import { z } from 'zod';
import { DocketError } from '../../base/error.ts';
import type { RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';
import type { RunOrder } from '../../run/run-record.ts';
import { assignFairPriority } from './fair-priority.ts';

/** The queue of runs. */
export const RUN_QUEUE_NAME = 'runs';
/** The tiny queue in which BullMQ's job schedulers tick. */
export const TICK_QUEUE_NAME = 'ticks';

/**
 * Tries of a run before it fails for good; a snooze is none. With `backoffMs` between them they last between one and two
 * hours: an outage of the API or of a mail server is over by then, or is somebody's concern already.
 */
export const MAX_RUN_ATTEMPTS = 12;

/** A job carries the run's id, and its organization as its name: what to do is in the record, which only we write. */
export const runJobSchema = z.object({ run: z.string().regex(/^[0-9a-f]{32}$/) });

const HOUR_S = 3_600;
const JOB_OPTIONS: JobsOptions = {
  attempts: MAX_RUN_ATTEMPTS,
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
export type EnqueueRequest = Pick<RunOrder, 'id' | 'org' | 'priority' | 'traceparent'>;

/** Where runs are put for the workers. */
export interface RunQueue {
  /** Puts the run in line; one that is there already stays as it is. */
  enqueue(order: EnqueueRequest, delayMs?: number): Promise<void>;
  /** Which of these runs the queue has no live job for: none at all, one that ended, or one that is in no list. */
  findOrphaned(ids: readonly string[]): Promise<readonly string[]>;
  /** Puts a run in line again whose job ended or was lost. */
  requeue(order: EnqueueRequest): Promise<void>;
  /** Takes a run out of the line; false while a worker has it in hand. */
  remove(id: string): Promise<boolean>;
  counts(): Promise<QueueCounts>;
  close(): Promise<void>;
}

/** @param redis a producer's client; it stays its owner's to close */
export function runQueue(redis: RedisClient, { prefix }: { readonly prefix: string }): RunQueue {
  const keys = redisKeys(prefix);
  const open = (): Queue => {
    const queue = new Queue(RUN_QUEUE_NAME, { connection: redis, prefix: keys.bull });
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
  const add = async (order: EnqueueRequest, delayMs = 0) => {
    const queue = await greeted();
    const places = { prioritized: queue.toKey('prioritized'), job: queue.toKey(order.id) };
    const priority = await assignFairPriority(redis, keys, places, order);
    if (priority === undefined) return;
    const { traceparent } = order;
    await queue.add(
      order.org,
      { run: order.id },
      {
        ...JOB_OPTIONS,
        jobId: order.id,
        priority,
        delay: delayMs,
        // As BullMQ's own telemetry keeps it: also a job that was lost and is put in line again is in its run's trace.
        ...(traceparent === undefined ? {} : { telemetry: { metadata: JSON.stringify({ traceparent }) } }),
      },
    );
  };
  return {
    enqueue: (order, delayMs) => withRedisErrors(redis, () => add(order, delayMs)),
    findOrphaned: (ids) => withRedisErrors(redis, () => findOrphanedJobs(redis, queue.toKey(''), ids)),
    requeue: (order) =>
      withRedisErrors(redis, async () => {
        // `add` finds what is left of a job of this id and does nothing; a live one stays as it is.
        await removeOrphanedJob(redis, queue.toKey(''), order.id);
        await add(order);
      }),
    remove: (id) => withRedisErrors(redis, async () => (await (await greeted()).remove(id)) === 1),
    counts: () =>
      withRedisErrors(redis, async () => {
        const counted = await (await greeted()).getJobCounts('waiting', 'prioritized', 'active', 'delayed', 'failed');
        const { waiting = 0, prioritized = 0, active = 0, delayed = 0, failed = 0 } = counted;
        return { waiting: waiting + prioritized, active, delayed, failed };
      }),
    close: () => queue.close(),
  };
}

/** Reads a job's data; throws `internal.defect` for a job that Docket did not make. */
export function parseRunJob(data: unknown): { readonly run: string } {
  const parsed = runJobSchema.safeParse(data);
  if (parsed.success) return parsed.data;
  throw new DocketError('internal.defect', 'A job of the queue is not one of ours.', {
    expected: '{ run: 32 hex digits }',
    next: 'Find out who else writes to this Redis under the same prefix.',
    retryable: false,
  });
}

/** Ids that one script looks at: it keeps Redis from everybody else meanwhile. */
const BATCH_SIZE = 500;

const FIND_ORPHANED = loadLuaScript('./find-orphaned-jobs.lua', import.meta.url);
const REMOVE_ORPHANED = loadLuaScript('./remove-orphaned-job.lua', import.meta.url);

const idsSchema = z.array(z.string());

/**
 * Which of these jobs nothing will run.
 * @param queue the prefix of the queue's keys, its last `:` included
 */
export async function findOrphanedJobs(
  redis: RedisClient,
  queue: string,
  ids: readonly string[],
): Promise<readonly string[]> {
  const lost: string[] = [];
  for (let from = 0; from < ids.length; from += BATCH_SIZE) {
    lost.push(
      ...idsSchema.parse(await runLuaScript(redis, FIND_ORPHANED, [queue], ids.slice(from, from + BATCH_SIZE))),
    );
  }
  return lost;
}

/** Removes all that is left of a job that nothing will run; one that is live stays as it is. */
export const removeOrphanedJob = async (redis: RedisClient, queue: string, id: string): Promise<void> =>
  void (await runLuaScript(redis, REMOVE_ORPHANED, [queue], [id]));
