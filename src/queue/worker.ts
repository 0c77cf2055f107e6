import { DelayedError, type Job, UnrecoverableError, Worker } from 'bullmq';
import type { Clock } from '../base/clock.ts';
import { DocketError, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import type { RunEvent } from '../run/event.ts';
import type { RunOrder, RunStore } from '../run/record.ts';
import { backoffMs, RetryLater } from './backoff.ts';
import { closeWorker } from './close-worker.ts';
import { asking, redisFailure } from './connection.ts';
import { RUNS } from './jobs.ts';
import { keysOf } from './keys.ts';
import { redisLive } from './live.ts';
import { type Execute, type InHand, type RunJobPorts, recordOf, tellToStop, tryRun } from './run-job.ts';
import type { RedisRunStore } from './run-store.ts';
import type { RedisClient } from './script.ts';
import type { QueueTelemetry } from './telemetry.ts';
import { othersWait } from './turns.ts';
import { within } from './within.ts';

export type { Execute } from './run-job.ts';

/** What a worker needs, and what may be set of it. */
export interface WorkerOptions {
  /** A worker's client (`openRedis(url, 'worker')`); it stays its owner's to close. */
  readonly connection: RedisClient;
  readonly prefix: string;
  /** Over a worker's client as well: it has to wait for a Redis that restarts, not to fail the run for it. */
  readonly store: RunStore & Pick<RedisRunStore, 'toldToStop'>;
  readonly execute: Execute;
  /** Told everything that runs here say of themselves. */
  readonly observe?: (order: RunOrder, event: RunEvent) => void;
  /** A run has failed for good. Called after its record says so, at most once a run. */
  readonly onTerminal?: (order: RunOrder, error: DocketError) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  /** Runs at the same time in this process. */
  readonly concurrency: number;
  /**
   * Workers that may go away (out of memory, killed) with a run in hand, which gets no further from one to the next, before
   * it is given up. One that only waits for its tokens, or was interrupted at another place each time, is not to blame.
   */
  readonly maxLost?: number;
  readonly backoff?: RunJobPorts['backoff'];
  /** Where BullMQ says what it does with jobs; nowhere when absent. */
  readonly telemetry?: QueueTelemetry | undefined;
  /** Ms for which a job is ours without renewal, and between looks for jobs whose worker has gone. */
  readonly lock?: { readonly durationMs: number; readonly checkMs: number };
}

/** A worker that takes jobs. */
export interface RunWorker {
  /** Runs in hand. */
  active(): number;
  /** Whether it asks for more. */
  taking(): boolean;
  /** Resolves when the worker takes jobs. */
  ready(): Promise<void>;
  /**
   * Takes no more jobs, lets those in hand end for `graceMs`, then tells them to stop and puts them back in line without
   * spending an attempt; another worker goes on at their checkpoint. Never waits much longer than `graceMs`.
   */
  close(graceMs: number): Promise<void>;
}

/** What an aborted run gets to return, and BullMQ to write it down, ms. */
const ABORT_MS = 3_000;
/** Between looks whether one of the runs in hand was cancelled. */
const LOOK_MS = 1_000;
/** For so long a run steps aside that would take its organization's last place while others wait. */
const ASIDE_MS = 1_000;

/** Takes jobs of runs off the queue, several at a time, until it is closed. */
export function startWorker(options: WorkerOptions): RunWorker {
  const { log } = options;
  const { lock = { durationMs: 30_000, checkMs: 30_000 } } = options;
  const ports: RunJobPorts = {
    ...options,
    live: redisLive(options.connection, options),
    maxLost: options.maxLost ?? 3,
    backoff: options.backoff ?? ((failed, failure) => backoffMs(failed, Math.random(), failure)),
  };
  const inHand = new Map<string, InHand>();
  let stopping = false;
  let idle: (() => void) | undefined;

  const stop = (run: string, why: NonNullable<InHand['stop']>, reason: string) => {
    const hand = inHand.get(run);
    if (hand !== undefined) tellToStop(hand, why, reason);
  };

  // One read a second while runs are in hand, however many: nobody pays for cancelling who does not cancel.
  const closing = new AbortController();
  let watching = false;
  const watch = async (): Promise<void> => {
    if (watching) return;
    watching = true;
    try {
      for (;;) {
        await options.clock.sleep(LOOK_MS, closing.signal);
        if (inHand.size === 0) return;
        const told = await options.store.toldToStop([...inHand.keys()]).catch((thrown: unknown) => {
          log.warn('Whether a run was cancelled could not be asked', { error: toDocketError(thrown).toJSON() });
          return [];
        });
        for (const run of told) stop(run, 'cancelled', 'Somebody has cancelled the run.');
      }
    } catch (thrown) {
      if (!closing.signal.aborted) throw thrown;
    } finally {
      watching = false;
    }
  };

  // Jobs that this process has taken, by organization: counted before anything is awaited, so that no two take the last place.
  const taken = new Map<string, number>();
  const jobs = `${keysOf(options.prefix).bull}:${RUNS}:`;
  const stepsAside = async (org: string): Promise<boolean> =>
    options.concurrency > 1 &&
    (taken.get(org) ?? 0) >= options.concurrency &&
    (await othersWait(options.connection, { prioritized: `${jobs}prioritized`, jobs }, org));

  const processJob = async (job: Job, token = ''): Promise<void> => {
    taken.set(job.name, (taken.get(job.name) ?? 0) + 1);
    try {
      if (await stepsAside(job.name)) {
        await job.moveToDelayed(Date.now() + ASIDE_MS, token);
        throw new DelayedError();
      }
      await processRun(job, token);
    } finally {
      const left = (taken.get(job.name) ?? 1) - 1;
      if (left > 0) taken.set(job.name, left);
      else taken.delete(job.name);
    }
  };

  const processRun = async (job: Job, token: string): Promise<void> => {
    const record = await recordOf(job, ports);
    if (record === undefined) return;
    // BullMQ may still hand out the job it was waiting for when the worker was told to stop.
    const hand: InHand = {
      controller: new AbortController(),
      confirmLock: async () => {
        if ((await job.extendLock(token, lock.durationMs)) === 1) return lock.durationMs;
        // Not aborted: whoever asks withholds what was about to leave, and knows that it has not left.
        hand.stop ??= 'lost';
        return 0;
      },
      ...(stopping ? { stop: 'stopping' } : {}),
    };
    inHand.set(record.id, hand);
    watch().catch((thrown: unknown) => log.error('Cancelled runs go on', { error: toDocketError(thrown).toJSON() }));
    try {
      await tryRun(job, token, record, hand, ports);
    } catch (thrown) {
      throw verbOf(thrown, record, log);
    } finally {
      // Unless the job came back to this very worker while it had not noticed the loss of its lock.
      if (inHand.get(record.id) === hand) inHand.delete(record.id);
      if (inHand.size === 0) idle?.();
    }
  };

  const worker = new Worker(RUNS, processJob, {
    connection: options.connection,
    prefix: keysOf(options.prefix).bull,
    concurrency: options.concurrency,
    ...(options.telemetry === undefined ? {} : { telemetry: options.telemetry }),
    lockDuration: lock.durationMs,
    stalledInterval: lock.checkMs,
    // `maxLost` decides instead, so that the record is written by us and never ends without a word.
    maxStalledCount: Number.MAX_SAFE_INTEGER,
    settings: {
      backoffStrategy: (failed, _type, error) =>
        error instanceof RetryLater
          ? error.delayMs
          : ports.backoff(failed, error instanceof DocketError ? error : undefined),
    },
  });
  worker.on('lockRenewalFailed', (ids) => {
    for (const id of ids) stop(id, 'lost', 'Another worker has taken the run over.');
  });
  worker.on('stalled', (run) => log.warn('The worker of a run has gone; it goes on elsewhere', { run }));
  worker.on('error', (error) => {
    const failure = redisFailure(options.connection, error);
    const known = failure instanceof DocketError ? { error: failure.toJSON() } : {};
    log.warn('The queue has a fault', { why: error.message, ...known });
  });

  const idleWithin = async (ms: number): Promise<void> => {
    if (inHand.size > 0) await within(new Promise<void>((resolve) => (idle = resolve)), ms);
  };

  return {
    active: () => inHand.size,
    taking: () => !stopping && worker.isRunning(),
    ready: () => asking(options.connection, async () => void (await worker.waitUntilReady())),
    close: async (graceMs) => {
      stopping = true;
      await worker.pause(true);
      await idleWithin(graceMs);
      for (const run of inHand.keys()) stop(run, 'stopping', 'The worker stops.');
      await idleWithin(ABORT_MS);
      closing.abort();
      if (inHand.size > 0) log.warn('Runs did not stop in time; others take them over', { count: inHand.size });
      await closeWorker(worker, options.connection, inHand.size > 0);
    },
  };
}

/**
 * What BullMQ is told of a try that could not say how it ended. What no further try would mend, such as a key in Redis of
 * another type, ends the job: its record cannot say so.
 */
function verbOf(thrown: unknown, { id: run, org, report }: RunOrder, log: Log): unknown {
  if (!(thrown instanceof DocketError) || thrown.retryable) return thrown;
  log.error('Run failed for good', { run, org, report, error: thrown.toJSON() });
  return new UnrecoverableError(thrown.code);
}
