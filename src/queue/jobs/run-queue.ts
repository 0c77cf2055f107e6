import type { Job, JobsOptions, Queue } from 'bullmq';
import { z } from 'zod';
import { splitBatches } from '../../base/concurrency.ts';
import { DocketError } from '../../base/error.ts';
import type { RedisClient } from '../../redis/client.ts';
import { mapRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';
import { expectedAt } from '../../run/lateness.ts';
import type { RunOrder } from '../../run/run-record.ts';
import { openQueue, RUN_QUEUE_NAME } from '../bullmq.ts';
import { assignFairPriority, countByPriority, takePlace } from './fair-priority.ts';

/**
 * Attempts before a run fails permanently. Snoozes do not count. With the backoff they take between one and two hours,
 * longer than most outages of the API or a mail server.
 */
export const MAX_RUN_ATTEMPTS = 12;

/** A job's data. The job's name is the organization. Everything else is in the run record, which only Docket writes. */
const runJobSchema = z.object({ run: z.string().regex(/^[0-9a-f]{32}$/) });

const HOUR_S = 3_600;
const JOB_OPTIONS: JobsOptions = {
  attempts: MAX_RUN_ATTEMPTS,
  // The worker computes the delay, and passes it in the error that it throws.
  backoff: { type: 'custom' },
  removeOnComplete: { age: 24 * HOUR_S, count: 1_000 },
  removeOnFail: { age: 7 * 24 * HOUR_S, count: 5_000 },
  // A stack trace may quote values, and the record already has the error.
  stackTraceLimit: 0,
  sizeLimit: 256,
};

/** Jobs by state. Snoozed and retried runs are `delayed`. `failed` jobs are kept for a week. */
export interface QueueCounts {
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
  readonly failed: number;
}

export type EnqueueRequest = Pick<RunOrder, 'id' | 'org' | 'priority' | 'traceparent'> &
  Partial<Pick<RunOrder, 'report' | 'slot' | 'trigger' | 'lateAfterMs'>>;

/** Ids per script call. Redis is blocked during a call. */
const BATCH_SIZE = 500;

const FIND_ORPHANED = loadLuaScript('./find-orphaned-jobs.lua', import.meta.url);
const REMOVE_ORPHANED = loadLuaScript('./remove-orphaned-job.lua', import.meta.url);

const idsSchema = z.array(z.string());

/** The queue of runs, opened on first use. @param redis a producer's client; the caller closes it */
export function runQueue(redis: RedisClient, { prefix }: { readonly prefix: string }) {
  const keys = redisKeys(prefix);
  const mapped = mapRedisErrors(redis);
  const open = (): Queue => openQueue(redis, prefix, RUN_QUEUE_NAME);
  let opened: Queue | undefined;
  const queueNow = (): Queue => {
    opened ??= open();
    return opened;
  };
  // BullMQ connects only once. A queue opened while Redis was unreachable, or while this process was too busy to read
  // the reply, reports that error forever. So a new queue is opened to see whether the error persists.
  let connected: Queue | undefined;
  const readyQueue = async (again = true): Promise<Queue> => {
    const current = queueNow();
    // BullMQ would wait for an unreachable server; this fails at once.
    if (connected !== current) await redis.ping();
    try {
      await current.waitUntilReady();
      connected = current;
      return current;
    } catch (error) {
      if (opened === current) opened = open();
      await current.close().catch(() => {});
      if (again && redis.status === 'ready') return readyQueue(false);
      throw error;
    }
  };
  const assignPlace = (order: EnqueueRequest): Promise<number | undefined> => {
    const queue = queueNow();
    return assignFairPriority(
      redis,
      keys,
      { prioritized: queue.toKey('prioritized'), job: queue.toKey(order.id) },
      order,
    );
  };
  /** Scheduled runs start in the order in which their readers expect them. */
  const placeInOrder = async (order: EnqueueRequest, assigned: number, queue: Queue): Promise<number> => {
    const { id, org, report, slot, trigger, priority, lateAfterMs } = order;
    if (trigger !== 'schedule' || priority !== 'scheduled' || report === undefined || slot === undefined)
      return assigned;
    const names = { prioritized: queue.toKey('prioritized'), counter: queue.toKey('pc'), jobs: queue.toKey('') };
    const expected = expectedAt({ slot, ...(lateAfterMs === undefined ? {} : { lateAfterMs }) });
    return takePlace(redis, keys, names, { id, org, report, expected }, assigned);
  };
  const add = async (order: EnqueueRequest, delayMs = 0, place?: number): Promise<void> => {
    const queue = await readyQueue();
    const assigned = place ?? (await assignPlace(order));
    if (assigned === undefined) return;
    const priority = await placeInOrder(order, assigned, queue);
    const { traceparent } = order;
    await queue.add(
      order.org,
      { run: order.id },
      {
        ...JOB_OPTIONS,
        jobId: order.id,
        priority,
        delay: delayMs,
        // In the format of BullMQ's telemetry. Keeps a requeued job in its run's trace.
        ...(traceparent === undefined ? {} : { telemetry: { metadata: JSON.stringify({ traceparent }) } }),
      },
    );
  };
  return {
    /** Assigns a place in line to a run without a job. Pass the result to `enqueue`, which otherwise assigns one. */
    assignPlace: mapped(assignPlace),
    /** Adds a job for the run, unless it has one. */
    enqueue: mapped(add),
    /** Finds runs without a live job: without any, with an ended one, or with one that is in none of BullMQ's lists. */
    findOrphaned: mapped(async (ids: readonly string[]): Promise<readonly string[]> => {
      const orphaned: string[] = [];
      for (const batch of splitBatches(ids, BATCH_SIZE)) {
        orphaned.push(...idsSchema.parse(await runLuaScript(redis, FIND_ORPHANED, [queueNow().toKey('')], batch)));
      }
      return orphaned;
    }),
    /** Adds a job for a run whose job has ended or was lost. A live job stays as it is. */
    requeue: mapped(async (order: EnqueueRequest) => {
      // `add` does nothing while remains of a job with this id exist.
      await runLuaScript(redis, REMOVE_ORPHANED, [queueNow().toKey('')], [order.id]);
      await add(order);
    }),
    /** Removes the run's job. False while a worker processes it. */
    remove: mapped(async (id: string) => (await (await readyQueue()).remove(id)) === 1),
    /** Ends the wait of the run's job now. False if it does not wait. */
    promote: mapped(async (id: string): Promise<boolean> => {
      const job: Job | undefined = await (await readyQueue()).getJob(id);
      if (job === undefined || !(await job.isDelayed())) return false;
      // A worker may have taken the job meanwhile.
      return job.promote().then(
        () => true,
        async (thrown: unknown) => ((await job.isDelayed()) ? Promise.reject(thrown) : false),
      );
    }),
    counts: mapped(async (): Promise<QueueCounts> => {
      const current = await readyQueue();
      const counted = await current.getJobCounts('waiting', 'prioritized', 'active', 'delayed', 'failed');
      const { waiting = 0, prioritized = 0, active = 0, delayed = 0, failed = 0 } = counted;
      return { waiting: waiting + prioritized, active, delayed, failed };
    }),
    /** Counts the runs that wait for a worker, by priority. */
    waitingByPriority: mapped(() => countByPriority(redis, { prioritized: queueNow().toKey('prioritized') })),
    close: async () => opened?.close(),
  };
}
export type RunQueue = ReturnType<typeof runQueue>;

/** Parses a job's data. Throws `internal.defect` for a job that Docket did not create. */
export function parseRunJob(data: unknown): { readonly run: string } {
  const parsed = runJobSchema.safeParse(data);
  if (parsed.success) return parsed.data;
  throw new DocketError('internal.defect', 'Unrecognised job payload.', {
    expected: '{ run: 32 hex digits }',
    next: 'Find the other program that writes to this Redis under the same prefix.',
    retryable: false,
  });
}
