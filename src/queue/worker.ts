import { DelayedError, type Job, UnrecoverableError, Worker } from 'bullmq';
import type { Clock } from '../base/clock.ts';
import { DocketError, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { fail, type Outcome } from '../base/outcome.ts';
import type { Observe, RunEvent } from '../run/event.ts';
import type { RunOrder, RunRecord, RunStore } from '../run/record.ts';
import type { RunResult } from '../run/result.ts';
import { backoffMs, RetryLater } from './backoff.ts';
import { ATTEMPTS, RUNS, readRunJob } from './jobs.ts';
import { keysOf } from './keys.ts';
import { recordProgress, resultFields } from './progress.ts';
import { ENDED } from './run-store.ts';
import type { RedisClient } from './script.ts';
import { within } from './within.ts';

/** What happens in one try of a run. It is told when to stop by `signal`, and returns soon after. */
export type Execute = (
  order: RunOrder,
  context: {
    readonly signal: AbortSignal;
    readonly observe: Observe;
    /** From 1; a snooze is no attempt. */
    readonly attempt: number;
    readonly lastAttempt: boolean;
  },
) => Promise<Outcome<RunResult>>;

export interface WorkerOptions {
  /** A worker's client (`openRedis(url, 'worker')`); it stays its owner's to close. */
  readonly connection: RedisClient;
  readonly prefix: string;
  /** Over a worker's client as well: it has to wait for a Redis that restarts, not to fail the run for it. */
  readonly store: RunStore;
  readonly execute: Execute;
  /** Told everything that runs here say of themselves. */
  readonly observe?: (order: RunOrder, event: RunEvent) => void;
  /** A run has failed for good. Called after its record says so, at most once a run. */
  readonly onTerminal?: (order: RunOrder, error: DocketError) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  /** Runs at the same time in this process. */
  readonly concurrency: number;
  /** Ms from its first start after which a run is given up, however often it slept. */
  readonly deadlineMs?: number;
  /** Times a run may take its worker down (out of memory, killed) before it is given up. */
  readonly maxLost?: number;
  readonly backoff?: (failed: number) => number;
  /** Ms for which a job is ours without renewal, and between looks for jobs whose worker has gone. */
  readonly lock?: { readonly durationMs: number; readonly checkMs: number };
}

export interface RunWorker {
  /** Runs in hand. */
  active(): number;
  /** Resolves when the worker takes jobs. */
  ready(): Promise<void>;
  /**
   * Takes no more jobs, lets those in hand end for `graceMs`, then tells them to stop and puts them back in line without
   * spending an attempt; another worker goes on at their checkpoint. Never waits much longer than `graceMs`.
   */
  close(graceMs: number): Promise<void>;
}

/** Why a run in hand was told to stop. */
type Stop = 'stopping' | 'lost';
interface InHand {
  readonly controller: AbortController;
  stop?: Stop;
}

const DEADLINE_MS = 24 * 3_600_000;
/** What an aborted run gets to return, and BullMQ to write it down, ms. */
const ABORT_MS = 3_000;

/** Runs jobs of the queue. The only place where an outcome becomes a BullMQ verb. */
export function startWorker(options: WorkerOptions): RunWorker {
  const { store, execute, clock, log } = options;
  const { deadlineMs = DEADLINE_MS, maxLost = 3, lock = { durationMs: 30_000, checkMs: 30_000 } } = options;
  const backoff = options.backoff ?? ((failed: number) => backoffMs(failed, Math.random()));
  const inHand = new Map<string, InHand>();
  let stopping = false;
  let idle: (() => void) | undefined;

  const stop = (run: string, why: Stop, reason: string) => {
    const entry = inHand.get(run);
    if (entry === undefined || entry.stop !== undefined) return;
    entry.stop = why;
    entry.controller.abort(new DocketError('run.cancelled', reason));
  };

  /** The record first, then the job: a worker that dies between the two leaves a job that is looked at again. */
  const postpone = async (job: Job, token: string, until: number): Promise<never> => {
    await job.moveToDelayed(until, token);
    throw new DelayedError();
  };

  const giveUp = async (id: string, order: RunOrder | undefined, error: DocketError): Promise<never> => {
    await store.update(id, { state: 'failed', error: error.toJSON(), finishedAt: clock.now(), until: null });
    log.error('Run failed for good', {
      run: id,
      ...(order && { org: order.org, report: order.report, slot: order.slot }),
      error: error.toJSON(),
    });
    if (order !== undefined) {
      await options.onTerminal?.(order, error).catch((thrown: unknown) => {
        log.error('The owner could not be told that the run has failed', {
          run: id,
          error: toDocketError(thrown).toJSON(),
        });
      });
    }
    if (order !== undefined) options.observe?.(order, { type: 'finished', state: 'failed', error: error.toJSON() });
    throw new UnrecoverableError(error.code);
  };

  const attempt = async (job: Job, token: string, record: RunRecord, entry: InHand): Promise<void> => {
    const { id } = record;
    const now = clock.now();
    const startedAt = record.startedAt ?? now;
    if (job.stalledCounter >= maxLost) {
      const message = `The run took down its worker ${job.stalledCounter} times.`;
      return giveUp(
        id,
        record,
        new DocketError('run.poison', message, {
          next: 'Look at the memory of the workers and at the size of the report, then trigger it again.',
        }),
      );
    }
    if (now - startedAt > deadlineMs) {
      return giveUp(
        id,
        record,
        new DocketError('run.deadline', 'The run took too long and was given up.', {
          expected: `an end within ${Math.round(deadlineMs / 60_000)} minutes of its first start`,
          next: 'See what it waited for, e.g. the budget of its API key, then trigger it again.',
        }),
      );
    }
    await store.update(id, { state: 'running', startedAt, until: null });
    const progress = recordProgress(store, record, (error) =>
      log.warn('The progress of the run could not be written down', { run: id, error: error.toJSON() }),
    );
    const number = job.attemptsMade + 1;
    const attempts = job.opts.attempts ?? ATTEMPTS;
    let outcome: Outcome<RunResult>;
    try {
      outcome = await execute(record, {
        signal: entry.controller.signal,
        observe: (event) => {
          progress.observe(event);
          options.observe?.(record, event);
        },
        attempt: number,
        lastAttempt: number >= attempts,
      });
    } catch (thrown) {
      outcome = fail(toDocketError(thrown));
    }
    if (entry.stop === 'lost') {
      // The job is another worker's now: not a word to the record nor to the queue.
      log.warn('The run was taken over by another worker', { run: id });
      throw new Error('lock lost');
    }
    await progress.settled();
    switch (outcome.kind) {
      case 'done': {
        const counted = progress.calls();
        const calls = { ...counted, planned: Math.max(counted.planned, outcome.value.calls.length) };
        await store.update(id, { ...resultFields(outcome.value, calls), finishedAt: clock.now() });
        options.observe?.(record, { type: 'finished', state: outcome.value.state });
        log.info('Run ended', { run: id, org: record.org, report: record.report, state: outcome.value.state });
        return;
      }
      case 'snooze':
        await store.update(id, { state: 'waiting', until: outcome.until });
        options.observe?.(record, { type: 'snoozed', until: outcome.until, why: outcome.why });
        log.debug('Run sleeps', { run: id, until: new Date(outcome.until).toISOString(), why: outcome.why });
        return postpone(job, token, outcome.until);
      case 'cancel':
        if (entry.stop === 'stopping') return putBack(job, token, id);
        await store.update(id, {
          state: 'cancelled',
          error: new DocketError('run.cancelled', outcome.why).toJSON(),
          finishedAt: clock.now(),
          until: null,
        });
        log.info('Run cancelled', { run: id, why: outcome.why });
        options.observe?.(record, { type: 'finished', state: 'cancelled' });
        throw new UnrecoverableError('run.cancelled');
      case 'fail': {
        const { error } = outcome;
        if (entry.stop === 'stopping') return putBack(job, token, id);
        if (!error.retryable || number >= attempts) return giveUp(id, record, error);
        const delay = backoff(number);
        await store.update(id, { state: 'waiting', until: clock.now() + delay, error: error.toJSON() });
        log.warn(`Run failed; try ${number + 1} of ${attempts} follows`, { run: id, ms: delay, error: error.toJSON() });
        throw new RetryLater(error.code, delay);
      }
    }
  };

  const putBack = async (job: Job, token: string, id: string): Promise<never> => {
    await store.update(id, { state: 'queued', until: null });
    log.info('Run put back in line: the worker stops', { run: id });
    return postpone(job, token, clock.now());
  };

  const processJob = async (job: Job, token = ''): Promise<void> => {
    let run: string;
    try {
      run = readRunJob(job.data).run;
    } catch (thrown) {
      const error = toDocketError(thrown);
      log.error(error.message, { error: error.toJSON() });
      throw new UnrecoverableError(error.code);
    }
    let record: RunRecord | undefined;
    try {
      record = await store.get(run);
    } catch (thrown) {
      const error = toDocketError(thrown);
      // A record that nobody can read would come back for ever.
      if (error.code !== 'redis.unreachable') return giveUp(run, undefined, error);
      throw error;
    }
    if (record === undefined) {
      log.error('A job names a run that is not on record', { run });
      throw new UnrecoverableError('run.not_found');
    }
    // A replay: the job was removed and added again after its run had ended, or its worker died just after the end.
    if (ENDED.has(record.state)) return;
    if (stopping) return putBack(job, token, run);
    const entry: InHand = { controller: new AbortController() };
    inHand.set(run, entry);
    try {
      await attempt(job, token, record, entry);
    } finally {
      // Unless the job came back to this very worker while it had not noticed the loss of its lock.
      if (inHand.get(run) === entry) inHand.delete(run);
      if (inHand.size === 0) idle?.();
    }
  };

  const worker = new Worker(RUNS, processJob, {
    connection: options.connection,
    prefix: keysOf(options.prefix).bull,
    concurrency: options.concurrency,
    lockDuration: lock.durationMs,
    stalledInterval: lock.checkMs,
    // `maxLost` decides instead, so that the record is written by us and never ends without a word.
    maxStalledCount: Number.MAX_SAFE_INTEGER,
    settings: {
      backoffStrategy: (failed, _type, error) => (error instanceof RetryLater ? error.delayMs : backoff(failed)),
    },
  });
  worker.on('lockRenewalFailed', (ids) => {
    for (const id of ids) stop(id, 'lost', 'Another worker has taken the run over.');
  });
  worker.on('stalled', (run) => log.warn('The worker of a run has gone; it goes on elsewhere', { run }));
  worker.on('error', (error) => log.warn('The queue has a fault', { why: error.message }));

  const idleWithin = async (ms: number): Promise<void> => {
    if (inHand.size > 0) await within(new Promise<void>((resolve) => (idle = resolve)), ms);
  };

  return {
    active: () => inHand.size,
    ready: async () => {
      await worker.waitUntilReady();
    },
    close: async (graceMs) => {
      stopping = true;
      await worker.pause(true);
      await idleWithin(graceMs);
      for (const run of inHand.keys()) stop(run, 'stopping', 'The worker stops.');
      await idleWithin(ABORT_MS);
      if (inHand.size > 0) log.warn('Runs did not stop in time; others take them over', { count: inHand.size });
      // With Redis away BullMQ would wait for it for ever.
      await within(worker.close(inHand.size > 0), ABORT_MS);
    },
  };
}
