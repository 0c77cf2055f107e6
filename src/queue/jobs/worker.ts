import { DelayedError, type Job, UnrecoverableError, Worker } from 'bullmq';
import { settlesWithin } from '../../base/concurrency.ts';
import { DocketError, toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import type { RedisClient } from '../../redis/client.ts';
import { toRedisError, withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import type { RunOrder } from '../../run/run-record.ts';
import { closeWorker, type QueueTelemetry, RUN_QUEUE_NAME } from '../bullmq.ts';
import { redisLiveProgress } from '../runs/live-progress.ts';
import type { RedisRunStore } from '../runs/run-store.ts';
import { otherOrgsWaiting } from './fair-priority.ts';
import { type ActiveRun, loadRecord, type ProcessJobPorts, processRun, requestStop } from './process-job.ts';
import { RetryLater, retryDelayMs } from './retry-policy.ts';

export type { Execute } from './process-job.ts';

export interface WorkerOptions extends Omit<ProcessJobPorts, 'live' | 'maxCrashes' | 'backoff'> {
  /** A worker's client (`openRedis(url, 'worker')`); the caller closes it. */
  readonly connection: RedisClient;
  readonly prefix: string;
  /** Uses a worker's client too, so that it waits while Redis restarts instead of failing the run. */
  readonly store: RedisRunStore;
  /** How many runs this process executes at the same time. */
  readonly concurrency: number;
  readonly maxCrashes?: number;
  readonly backoff?: ProcessJobPorts['backoff'];
  /** For BullMQ's own spans. Absent: none. */
  readonly telemetry?: QueueTelemetry | undefined;
  /** How long a lock is held without renewal, and how often to check for jobs whose worker has stopped, both in ms. */
  readonly lock?: { readonly durationMs: number; readonly stalledIntervalMs: number };
}

/** Time for an aborted run to return, ms. */
const ABORT_TIMEOUT_MS = 3_000;
/** How often to check whether an active run was cancelled, ms. */
const CANCEL_POLL_INTERVAL_MS = 1_000;
/** Delay of a run that yields its slot to other organizations, ms. */
const YIELD_DELAY_MS = 1_000;

/** Processes the queue of runs until it is closed. */
export function startWorker(options: WorkerOptions) {
  const { log } = options;
  const { lock = { durationMs: 30_000, stalledIntervalMs: 30_000 } } = options;
  const ports: ProcessJobPorts = {
    ...options,
    live: redisLiveProgress(options.connection, options),
    maxCrashes: options.maxCrashes ?? 3,
    backoff: options.backoff ?? ((attempts, failure) => retryDelayMs(attempts, Math.random(), failure)),
  };
  const activeRuns = new Map<string, ActiveRun>();
  let stopping = false;
  let idle: (() => void) | undefined;

  const stop = (run: string, reason: NonNullable<ActiveRun['stopReason']>, message: string) => {
    const activeRun = activeRuns.get(run);
    if (activeRun !== undefined) requestStop(activeRun, reason, message);
  };

  // One read a second while runs are active, however many there are.
  const closing = new AbortController();
  let polling = false;
  const pollCancellations = async (): Promise<void> => {
    if (polling) return;
    polling = true;
    try {
      for (;;) {
        await options.clock.sleep(CANCEL_POLL_INTERVAL_MS, closing.signal);
        if (activeRuns.size === 0) return;
        const cancelled = await options.store.cancelRequested([...activeRuns.keys()]).catch((thrown: unknown) => {
          log.warn('Cancellation check failed', { error: toDocketError(thrown).toJSON() });
          return [];
        });
        for (const run of cancelled) stop(run, 'cancelled', 'The run was cancelled.');
      }
    } catch (thrown) {
      if (!closing.signal.aborted) throw thrown;
    } finally {
      polling = false;
    }
  };

  // This process's jobs by organization. Counted before the first await, so that two jobs cannot take the last slot.
  const jobsByOrg = new Map<string, number>();
  const jobs = `${redisKeys(options.prefix).bull}:${RUN_QUEUE_NAME}:`;
  const mustYield = async (org: string): Promise<boolean> =>
    options.concurrency > 1 &&
    (jobsByOrg.get(org) ?? 0) >= options.concurrency &&
    (await otherOrgsWaiting(options.connection, { prioritized: `${jobs}prioritized`, jobs }, org));

  const processJob = async (job: Job, token = ''): Promise<void> => {
    jobsByOrg.set(job.name, (jobsByOrg.get(job.name) ?? 0) + 1);
    try {
      if (await mustYield(job.name)) {
        await job.moveToDelayed(options.clock.now() + YIELD_DELAY_MS, token);
        throw new DelayedError();
      }
      await processJobRun(job, token);
    } finally {
      const left = (jobsByOrg.get(job.name) ?? 1) - 1;
      if (left > 0) jobsByOrg.set(job.name, left);
      else jobsByOrg.delete(job.name);
    }
  };

  const processJobRun = async (job: Job, token: string): Promise<void> => {
    const record = await loadRecord(job, ports);
    if (record === undefined) return;
    const activeRun: ActiveRun = {
      controller: new AbortController(),
      confirmLock: async () => {
        if ((await job.extendLock(token, lock.durationMs)) === 1) return lock.durationMs;
        // Not aborted: the caller withholds the message, and knows that it was not sent.
        activeRun.stopReason ??= 'lost';
        return 0;
      },
      // While the worker closes, BullMQ may still deliver the job that it was waiting for.
      ...(stopping ? { stopReason: 'stopping' as const } : {}),
    };
    activeRuns.set(record.id, activeRun);
    pollCancellations().catch((thrown: unknown) =>
      log.error('Cancellation watcher stopped', { error: toDocketError(thrown).toJSON() }),
    );
    try {
      await processRun(job, token, record, activeRun, ports);
    } catch (thrown) {
      throw toBullMqError(thrown, record, log);
    } finally {
      // This worker may have taken the job again before it noticed that the lock was lost.
      if (activeRuns.get(record.id) === activeRun) activeRuns.delete(record.id);
      if (activeRuns.size === 0) idle?.();
    }
  };

  const worker = new Worker(RUN_QUEUE_NAME, processJob, {
    connection: options.connection,
    prefix: redisKeys(options.prefix).bull,
    concurrency: options.concurrency,
    ...(options.telemetry === undefined ? {} : { telemetry: options.telemetry }),
    lockDuration: lock.durationMs,
    stalledInterval: lock.stalledIntervalMs,
    // `maxCrashes` decides instead, so that Docket writes the record of the failed run.
    maxStalledCount: Number.MAX_SAFE_INTEGER,
    settings: {
      backoffStrategy: (attempts, _type, error) =>
        error instanceof RetryLater
          ? error.delayMs
          : ports.backoff(attempts, error instanceof DocketError ? error : undefined),
    },
  });
  worker.on('lockRenewalFailed', (ids) => {
    for (const id of ids) stop(id, 'lost', 'Another worker has taken over the run.');
  });
  worker.on('stalled', (run) => log.warn('Stalled job: its worker stopped; another one continues', { run }));
  worker.on('error', (error) => {
    const failure = toRedisError(error, { server: options.connection });
    const known = failure instanceof DocketError ? { error: failure.toJSON() } : {};
    log.warn('BullMQ worker error', { why: error.message, ...known });
  });

  const idleWithin = async (ms: number): Promise<void> => {
    if (activeRuns.size > 0) await settlesWithin(new Promise<void>((resolve) => (idle = resolve)), ms);
  };

  return {
    /** Number of active runs. */
    active: () => activeRuns.size,
    /** Whether the worker takes more jobs. */
    isAccepting: () => !stopping && worker.isRunning(),
    /** Resolves once the worker takes jobs. */
    ready: () => withRedisErrors(options.connection, async () => void (await worker.waitUntilReady())),
    /**
     * Takes no more jobs, and waits up to `graceMs` for the active ones. Then aborts and requeues them without using an
     * attempt; another worker continues at their checkpoint. Never waits much longer than `graceMs`.
     */
    close: async (graceMs: number): Promise<void> => {
      stopping = true;
      await worker.pause(true);
      await idleWithin(graceMs);
      for (const run of activeRuns.keys()) stop(run, 'stopping', 'The worker is shutting down.');
      await idleWithin(ABORT_TIMEOUT_MS);
      closing.abort();
      if (activeRuns.size > 0)
        log.warn('Runs did not stop in time; other workers take them over', { count: activeRuns.size });
      await closeWorker(worker, options.connection, activeRuns.size > 0);
    },
  };
}
export type RunWorker = ReturnType<typeof startWorker>;

/**
 * The error for BullMQ if an attempt could not record its end. A permanent error, e.g. a Redis key of the wrong type,
 * ends the job, but its record cannot be updated.
 */
function toBullMqError(thrown: unknown, { id: run, org, report }: RunOrder, log: Log): unknown {
  if (!(thrown instanceof DocketError) || thrown.retryable) return thrown;
  log.error('Run failed permanently', { run, org, report, error: thrown.toJSON() });
  return new UnrecoverableError(thrown.code);
}
