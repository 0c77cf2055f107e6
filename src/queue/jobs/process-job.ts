import { DelayedError, type Job, UnrecoverableError } from 'bullmq';
import type { Clock } from '../../base/clock.ts';
import { DocketError, isRedisOutage, isStorageOutage, toDocketError } from '../../base/error.ts';
import { childLog, type Log, type LogFields } from '../../base/log.ts';
import { fail, type Outcome } from '../../base/outcome.ts';
import { MINUTE_MS } from '../../base/time.ts';
import { logRunEvents, type OnRunEvent, type RunEvent } from '../../run/run-events.ts';
import {
  type ReviewProgress,
  type RunOrder,
  type RunRecord,
  type RunStore,
  TERMINAL_STATES,
} from '../../run/run-record.ts';
import type { RunResult } from '../../run/run-result.ts';
import type { LiveProgressStore } from '../runs/live-progress.ts';
import { createProgressRecorder, type ProgressUpdate, resultFields } from '../runs/progress-recorder.ts';
import { cancelledError } from '../runs/run-store.ts';
import type { MutableRunFields } from '../runs/stored-record.ts';
import { isBehindTurn, resumedPriority } from './fair-priority.ts';
import {
  countCrashes,
  deadlineError,
  deadlineMsOf,
  isPoisoned,
  poisonError,
  RetryLater,
  type RetryReason,
  storageRetryDelayMs,
} from './retry-policy.ts';
import { MAX_RUN_ATTEMPTS, parseRunJob } from './run-queue.ts';

/** Renews a run's lock. Resolves to the ms for which it is held, 0 if it is lost. Rejects when Redis is unreachable. */
export type ConfirmLock = () => Promise<number>;

/** Executes one attempt of a run. Returns soon after `signal` aborts. */
export type Execute = (
  order: RunOrder,
  context: {
    readonly signal: AbortSignal;
    readonly observe: OnRunEvent;
    /** Counts from 1. A snooze is not an attempt. */
    readonly attempt: number;
    readonly lastAttempt: boolean;
    /** Set if no earlier attempt has begun, so that nothing of the run is stored. */
    readonly fresh?: boolean;
    /**
     * Resolves once the record says that the run is running; rejects if it must not run. Await it before doing anything
     * except the attempt's first reads. Absent without a record.
     */
    readonly marked?: Promise<void>;
    /** Set if the run was held and then released: it is delivered as it is. */
    readonly released?: boolean;
    /** Epoch ms at which a person last requested an attempt, e.g. by a retry. Absent: nobody did. */
    readonly askedAt?: number | undefined;
    readonly confirmLock?: ConfirmLock;
  },
) => Promise<Outcome<RunResult>>;

/** What an attempt needs from its worker. */
export interface ProcessJobPorts {
  readonly store: RunStore;
  readonly live: LiveProgressStore;
  readonly execute: Execute;
  /** Receives all events of the runs that this worker executes. */
  readonly observe?: (order: RunOrder, event: RunEvent) => void;
  /** Called when a run has failed permanently, after its record is written. At most once per run. */
  readonly onTerminal?: (order: RunOrder, error: DocketError) => Promise<void>;
  /**
   * Reopens a run that waits for people, if its review has an event that the attempt did not see. True: the run is
   * queued again. Called after the record is written.
   */
  readonly continueReview?: ((order: RunOrder, review: ReviewProgress) => Promise<boolean>) | undefined;
  /** Ms since `from` in which the organization's deliveries were stopped: `deadline` excludes them. Absent: never. */
  readonly stoppedMs?: ((org: string, from: number) => Promise<number>) | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** A run fails after this many worker crashes (out of memory, killed) without progress in between. Default: 3. */
  readonly maxCrashes: number;
  /** Delay before the next attempt, ms, after `attempts` failed attempts, the last one with this error. */
  readonly backoff: (attempts: number, failure?: RetryReason) => number;
}

const MIN_SNOOZE_MS = 100;

/** A run that this worker is executing. */
export interface ActiveRun {
  readonly controller: AbortController;
  readonly confirmLock: ConfirmLock;
  /** Why it must stop: the worker shuts down, another worker has its lock, it was cancelled, or its deadline passed. */
  stopReason?: 'stopping' | 'lost' | 'cancelled' | 'deadline';
}

/** Aborts a run. Later reasons are ignored. */
export function requestStop(run: ActiveRun, reason: NonNullable<ActiveRun['stopReason']>, message: string): void {
  if (run.stopReason !== undefined) return;
  run.stopReason = reason;
  run.controller.abort(new DocketError('run.cancelled', message));
}

/** Ends the job of a run whose record cannot be written. The record keeps its state, so only the log has the error. */
function unrecoverableError(run: string, error: DocketError, log: Log): UnrecoverableError {
  log.error('Run failed permanently', { run, ...errorFields(error) });
  return new UnrecoverableError(error.code);
}

/** The record of a job's run; undefined if the run has ended. Throws `UnrecoverableError` for an unprocessable job. */
export async function loadRecord(job: Job, ports: ProcessJobPorts): Promise<RunRecord | undefined> {
  let run: string;
  try {
    run = parseRunJob(job.data).run;
  } catch (thrown) {
    const error = toDocketError(thrown);
    ports.log.error(error.message, { error: error.toJSON() });
    throw new UnrecoverableError(error.code);
  }
  let record: RunRecord | undefined;
  try {
    record = await ports.store.get(run);
  } catch (thrown) {
    const error = toDocketError(thrown);
    if (isRedisOutage(error)) throw error;
    // An unreadable record would be retried forever. If the key has the wrong type, no state can be written.
    if (error.code === 'redis.wrong_type') throw unrecoverableError(run, error, ports.log);
    return failPermanently(run, undefined, error, {}, ports);
  }
  if (record === undefined) {
    ports.log.error('The run of a job has no record', { run });
    throw new UnrecoverableError('run.not_found');
  }
  // The job was added again after its run had ended, or its worker crashed right after the end.
  return TERMINAL_STATES.has(record.state) ? undefined : record;
}

/**
 * Executes one attempt of a run. Only here does an outcome become a BullMQ verb: returning completes the job,
 * `DelayedError` delays it, `RetryLater` uses an attempt, `UnrecoverableError` fails it.
 *
 * The record is written before the verb, so that the job is processed again after a crash between the two.
 */
export async function processRun(
  job: Job,
  token: string,
  record: RunRecord,
  activeRun: ActiveRun,
  allPorts: ProcessJobPorts,
): Promise<void> {
  const { store, clock } = allPorts;
  const { id, org, report } = record;
  const logContext: LogFields = { run: id, org, report };
  const log = childLog(allPorts.log, () => logContext);
  const ports: ProcessJobPorts = { ...allPorts, log };
  const logEvent = logRunEvents(log);
  const observe = (event: RunEvent) => {
    if (event.type === 'begun') logContext.stage = event.stage;
    logEvent(event);
    ports.observe?.(record, event);
  };
  /** Updates the record of a run that continues. Ends the run if it was cancelled. */
  const update = async (change: Partial<MutableRunFields>): Promise<void> => {
    await store.update(id, change).catch((thrown: unknown) => {
      const error = toDocketError(thrown);
      return error.code === 'run.cancelled' ? endCancelled(record, error, change, ports) : Promise.reject(thrown);
    });
  };
  const delayJob = async (until: number): Promise<never> => {
    if (isBehindTurn(job.priority, record.priority))
      await job.changePriority({ priority: resumedPriority(record.priority) });
    await job.moveToDelayed(until, token);
    throw new DelayedError();
  };
  const requeue = async (progress: ProgressUpdate): Promise<never> => {
    await update({ ...progress, state: 'queued', until: null });
    log.info('Run requeued: worker is shutting down');
    return delayJob(clock.now());
  };

  if (activeRun.stopReason === 'stopping') return requeue({});
  const startedAt = record.startedAt ?? clock.now();
  const deadlineMs = deadlineMsOf(record);
  /** The deadline, extended by the time of delivery stops. If these cannot be read, it has not passed yet. */
  const deadlineNow = async (): Promise<number> => {
    const due = startedAt + deadlineMs;
    if (clock.now() < due) return due;
    const stopped = ports.stoppedMs?.(org, startedAt).catch(() => clock.now() - due + MINUTE_MS);
    return due + ((await stopped) ?? 0);
  };
  let deadline = await deadlineNow();
  const losses = countCrashes(record, job.stalledCounter);
  if (isPoisoned(losses, ports.maxCrashes)) return failPermanently(id, record, poisonError(losses), {}, ports);
  if (clock.now() > deadline)
    return failPermanently(id, record, deadlineError(deadlineMs, record.error?.message), {}, ports);
  const attempt = job.attemptsMade + 1;
  const attempts = job.opts.attempts ?? MAX_RUN_ATTEMPTS;
  const running = {
    state: 'running',
    startedAt,
    until: null,
    starts: record.starts + 1,
    attempts: attempt,
    losses,
  } as const;
  const marked = update(running);
  const progress = createProgressRecorder(store, record, {
    clock,
    live: ports.live,
    failed: (error) => log.warn('Run progress could not be written', { error: error.toJSON() }),
  });
  const finished = new AbortController();
  const stopAtDeadline = async (): Promise<void> => {
    do {
      await clock.sleep(Math.max(0, deadline - clock.now()), finished.signal);
      deadline = await deadlineNow();
    } while (clock.now() < deadline);
    if (!finished.signal.aborted) requestStop(activeRun, 'deadline', 'The run exceeded its deadline.');
  };
  stopAtDeadline().catch(() => {});
  const context: Parameters<Execute>[1] = {
    signal: activeRun.controller.signal,
    observe: (event) => {
      progress.observe(event);
      observe(event);
    },
    attempt,
    lastAttempt: attempt >= attempts,
    fresh: record.starts === 0,
    marked,
    released: record.reopened.some(({ what }) => what === 'release'),
    askedAt: record.reopened.at(-1)?.at,
    confirmLock: activeRun.confirmLock,
  };
  const execute = async () => ports.execute(record, context);
  // If the record could not be written, that error counts, whatever the attempt that waited for it returns.
  const [outcome] = await Promise.all([
    execute().catch((thrown: unknown) => fail(toDocketError(thrown))),
    marked,
  ]).finally(() => {
    // The explicit reason avoids creating an error with a stack.
    finished.abort(null);
  });
  const changes = await progress.finish(activeRun.stopReason === 'lost');
  const waitedMs = (changes.tokenWaitMs ?? record.tokenWaitMs) - record.tokenWaitMs;
  if (waitedMs > 0) observe({ type: 'waited', ms: waitedMs });
  // Read only now: it may have been set during the attempt.
  const { stopReason }: ActiveRun = activeRun;
  if (stopReason === 'lost') {
    // Another worker has the job, so neither the record nor the queue is changed.
    log.warn('The run was taken over by another worker');
    throw new Error('lock lost');
  }
  if (outcome.kind === 'done') {
    const { calls = record.calls, ...rest } = changes;
    const counted = { ...calls, planned: Math.max(calls.planned, outcome.value.calls.length) };
    await store.update(id, { ...rest, ...resultFields(outcome.value, counted), finishedAt: clock.now() });
    log.info('Run ended', { state: outcome.value.state, ms: clock.now() - startedAt, count: counted.made });
    observe({ type: 'finished', state: outcome.value.state });
    // The record was `running` when the event was appended, so the event's writer could not reopen the run.
    const { review } = outcome.value;
    if (review !== undefined && (await ports.continueReview?.(record, review))) return delayJob(clock.now());
    return;
  }
  if (stopReason === 'cancelled') {
    const cancellation = (await store.get(id))?.cancel;
    const error = cancellation
      ? cancelledError(cancellation)
      : new DocketError('run.cancelled', 'The run was cancelled.');
    return endCancelled(record, error, changes, ports);
  }
  if (stopReason === 'deadline') return failPermanently(id, record, deadlineError(deadlineMs), changes, ports);
  if (stopReason === 'stopping' && outcome.kind !== 'snooze') return requeue(changes);
  switch (outcome.kind) {
    case 'snooze': {
      // Another machine's clock may have computed `until`. If that clock is behind, it must not cause a busy loop.
      const until = Math.max(Math.min(outcome.until, deadline + 1), clock.now() + MIN_SNOOZE_MS);
      await update({ ...changes, state: 'waiting', until, waitingFor: { until, why: outcome.why } });
      log.debug('Run snoozed', { until: new Date(until).toISOString(), why: outcome.why });
      observe({ type: 'snoozed', until, why: outcome.why });
      return delayJob(until);
    }
    case 'cancel':
      return endCancelled(record, new DocketError('run.cancelled', outcome.why), changes, ports);
    case 'fail': {
      const { error } = outcome;
      if (isStorageOutage(error)) {
        const until = Math.min(clock.now() + storageRetryDelayMs(clock.now() - startedAt, Math.random()), deadline + 1);
        await update({ ...changes, state: 'waiting', until, error: error.toJSON() });
        log.warn('Run waits for its storage; no attempt is spent', {
          until: new Date(until).toISOString(),
          ...errorFields(error),
        });
        observe({ type: 'snoozed', until, why: error.message });
        return delayJob(until);
      }
      if (!error.retryable || attempt >= attempts) return failPermanently(id, record, error, changes, ports);
      const delay = Math.max(0, Math.min(ports.backoff(attempt, error), deadline + 1 - clock.now()));
      await update({ ...changes, state: 'waiting', until: clock.now() + delay, error: error.toJSON() });
      log.warn('Attempt failed; will retry', { attempt, of: attempts, ms: delay, ...errorFields(error) });
      if (isBehindTurn(job.priority, record.priority))
        await job.changePriority({ priority: resumedPriority(record.priority) });
      throw new RetryLater(error.code, delay);
    }
  }
}

const errorFields = (error: DocketError): LogFields => ({
  ...(error.correlationId === undefined ? {} : { correlation_id: error.correlationId }),
  error: error.toJSON(),
});

async function endCancelled(
  order: RunOrder,
  error: DocketError,
  changes: Partial<MutableRunFields>,
  { store, clock, log, observe }: ProcessJobPorts,
): Promise<never> {
  const { id: run, org, report } = order;
  const end = { state: 'cancelled', error: error.toJSON(), finishedAt: clock.now(), until: null } as const;
  await store.update(run, { ...changes, ...end });
  log.info('Run cancelled', { run, org, report, why: error.message });
  observe?.(order, { type: 'finished', state: 'cancelled' });
  throw new UnrecoverableError('run.cancelled');
}

async function failPermanently(
  id: string,
  order: RunOrder | undefined,
  error: DocketError,
  changes: ProgressUpdate,
  { store, clock, log, onTerminal, observe }: ProcessJobPorts,
): Promise<never> {
  await store.update(id, { ...changes, state: 'failed', error: error.toJSON(), finishedAt: clock.now(), until: null });
  const of = order === undefined ? {} : { org: order.org, report: order.report, slot: order.slot };
  log.error('Run failed permanently', { run: id, ...of, ...errorFields(error) });
  if (order !== undefined) {
    await onTerminal?.(order, error).catch((thrown: unknown) => {
      log.error('Failure notice could not be sent', { run: id, error: toDocketError(thrown).toJSON() });
    });
    observe?.(order, { type: 'finished', state: 'failed', error: error.toJSON() });
  }
  throw new UnrecoverableError(error.code);
}
