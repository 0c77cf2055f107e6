import { DelayedError, type Job, UnrecoverableError } from 'bullmq';
import type { Clock } from '../base/clock.ts';
import { DocketError, isRedisOutage, isStorageOutage, toDocketError } from '../base/error.ts';
import { type Log, type LogFields, logWith } from '../base/log.ts';
import { fail, type Outcome } from '../base/outcome.ts';
import type { Observe, RunEvent } from '../run/event.ts';
import { ENDED, type Losses, type RunOrder, type RunRecord, type RunStore } from '../run/record.ts';
import type { RunResult } from '../run/result.ts';
import { sayRun } from '../run/say.ts';
import { type Failure, RetryLater, storageWaitMs } from './backoff.ts';
import { ATTEMPTS, readRunJob } from './jobs.ts';
import type { LiveRuns } from './live.ts';
import { recordProgress, resultFields, type Told } from './progress.ts';
import { cancelled } from './run-store.ts';
import type { RunProgress } from './stored-record.ts';
import { begun, comesLate } from './turns.ts';

/** Renews the lock of a run; ms for which it is held from the call on, 0 when it is lost. Rejects when Redis cannot be asked. */
export type ConfirmLock = () => Promise<number>;

/** What happens in one try of a run. It is told when to stop by `signal`, and returns soon after. */
export type Execute = (
  order: RunOrder,
  context: {
    readonly signal: AbortSignal;
    readonly observe: Observe;
    /** From 1; a snooze is no attempt. */
    readonly attempt: number;
    readonly lastAttempt: boolean;
    /** Somebody let the held pack go out as it is. */
    readonly released?: boolean;
    readonly confirmLock?: ConfirmLock;
  },
) => Promise<Outcome<RunResult>>;

/** What trying a run needs; `WorkerOptions` explains each. */
export interface RunJobPorts {
  readonly store: RunStore;
  readonly live: Pick<LiveRuns, 'tell' | 'forget'>;
  readonly execute: Execute;
  readonly observe?: (order: RunOrder, event: RunEvent) => void;
  readonly onTerminal?: (order: RunOrder, error: DocketError) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  readonly maxLost: number;
  /** Ms before the next try, after so many that failed, the last one of this. */
  readonly backoff: (failed: number, failure?: Failure) => number;
}

const LEAST_SLEEP_MS = 100;
/** A run that gets further each time is given up as well after so many times `maxLost`. */
const MOST_LOST = 4;
/** Of runs that were opened by an older version. */
const DEADLINE_MS = 24 * 3_600_000;

/**
 * A run in hand, and why it was told to stop: its worker stops, the job is another worker's now, somebody has cancelled
 * it, or its time is up.
 */
export interface InHand {
  readonly controller: AbortController;
  readonly confirmLock: ConfirmLock;
  stop?: 'stopping' | 'lost' | 'cancelled' | 'deadline';
}

/** Tells a run in hand to stop; the first reason stands. */
export function tellToStop(hand: InHand, why: NonNullable<InHand['stop']>, reason: string): void {
  if (hand.stop !== undefined) return;
  hand.stop = why;
  hand.controller.abort(new DocketError('run.cancelled', reason));
}

/** Ends the job of a run whose record cannot be written: its state stays as it is, and the log alone says why. */
function unwritable(run: string, error: DocketError, log: Log): UnrecoverableError {
  log.error('Run failed for good', { run, ...errorFields(error) });
  return new UnrecoverableError(error.code);
}

/** The record of a job's run; undefined when there is nothing to do. Throws BullMQ's verb for a job that cannot be run. */
export async function recordOf(job: Job, ports: RunJobPorts): Promise<RunRecord | undefined> {
  let run: string;
  try {
    run = readRunJob(job.data).run;
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
    // A record that nobody can read would come back for ever; under a key of another type nothing can be written down.
    if (error.code === 'redis.wrong_type') throw unwritable(run, error, ports.log);
    return giveUp(run, undefined, error, {}, ports);
  }
  if (record === undefined) {
    ports.log.error('A job names a run that is not on record', { run });
    throw new UnrecoverableError('run.not_found');
  }
  // A replay: the job was removed and added again after its run had ended, or its worker died just after the end.
  return ENDED.has(record.state) ? undefined : record;
}

/**
 * One try of a run. The only place where an outcome becomes a BullMQ verb: returning finishes the job, `DelayedError`
 * lets it sleep, `RetryLater` spends an attempt, `UnrecoverableError` ends it.
 *
 * The record is always written before the verb: a worker that dies between the two leaves a job that is looked at again.
 */
export async function tryRun(
  job: Job,
  token: string,
  record: RunRecord,
  hand: InHand,
  all: RunJobPorts,
): Promise<void> {
  const { store, clock } = all;
  const { id, org, report } = record;
  const at: LogFields = { run: id, org, report };
  // Whoever says something of the run, and whatever it is at: the line knows.
  const log = logWith(all.log, () => at);
  const ports: RunJobPorts = { ...all, log };
  const say = sayRun(log);
  const observe = (event: RunEvent) => {
    if (event.type === 'begun') at.stage = event.stage;
    say(event);
    ports.observe?.(record, event);
  };
  /** Writes down that the run goes on, unless somebody has told it to stop. */
  const goOn = async (change: Partial<RunProgress>): Promise<void> => {
    await store.update(id, change).catch((thrown: unknown) => {
      const error = toDocketError(thrown);
      return error.code === 'run.cancelled' ? endCancelled(record, error, change, ports) : Promise.reject(thrown);
    });
  };
  const sleep = async (until: number): Promise<never> => {
    if (comesLate(job.priority, record.priority)) await job.changePriority({ priority: begun(record.priority) });
    await job.moveToDelayed(until, token);
    throw new DelayedError();
  };
  const putBack = async (told: Told): Promise<never> => {
    await goOn({ ...told, state: 'queued', until: null });
    log.info('Run put back in line: the worker stops');
    return sleep(clock.now());
  };

  if (hand.stop === 'stopping') return putBack({});
  const startedAt = record.startedAt ?? clock.now();
  const deadlineMs = record.deadlineMs ?? DEADLINE_MS;
  const deadline = startedAt + deadlineMs;
  const losses = lossesOf(record, job.stalledCounter);
  if (losses.stuck >= ports.maxLost || losses.all >= ports.maxLost * MOST_LOST)
    return giveUp(id, record, poisonous(losses), {}, ports);
  if (clock.now() > deadline) return giveUp(id, record, tooLong(deadlineMs, record.error?.message), {}, ports);
  const attempt = job.attemptsMade + 1;
  const attempts = job.opts.attempts ?? ATTEMPTS;
  await goOn({ state: 'running', startedAt, until: null, starts: record.starts + 1, attempts: attempt, losses });
  const progress = recordProgress(store, record, {
    clock,
    live: ports.live,
    failed: (error) => log.warn('The progress of the run could not be written down', { error: error.toJSON() }),
  });
  const over = new AbortController();
  clock.sleep(Math.max(0, deadline - clock.now()), over.signal).then(
    () => tellToStop(hand, 'deadline', 'The run has taken too long.'),
    () => {},
  );
  const outcome = await executed(record, ports.execute, {
    signal: hand.controller.signal,
    observe: (event) => {
      progress.observe(event);
      observe(event);
    },
    attempt,
    lastAttempt: attempt >= attempts,
    released: record.reopened.some(({ what }) => what === 'release'),
    confirmLock: hand.confirmLock,
  });
  // A reason of its own spares the error, with its stack, that there would be without one.
  over.abort(null);
  const told = await progress.ended(hand.stop === 'lost');
  const waitedMs = (told.tokenWaitMs ?? record.tokenWaitMs) - record.tokenWaitMs;
  if (waitedMs > 0) observe({ type: 'waited', ms: waitedMs });
  // As it is by now: it may have been told while the run went on.
  const { stop }: InHand = hand;
  if (stop === 'lost') {
    // The job is another worker's now: not a word to the record nor to the queue.
    log.warn('The run was taken over by another worker');
    throw new Error('lock lost');
  }
  if (outcome.kind === 'done') {
    const { calls = record.calls, ...rest } = told;
    const counted = { ...calls, planned: Math.max(calls.planned, outcome.value.calls.length) };
    await store.update(id, { ...rest, ...resultFields(outcome.value, counted), finishedAt: clock.now() });
    log.info('Run ended', { state: outcome.value.state, ms: clock.now() - startedAt, count: counted.made });
    observe({ type: 'finished', state: outcome.value.state });
    return;
  }
  if (stop === 'cancelled') {
    const cancellation = (await store.get(id))?.cancel;
    const error = cancellation ? cancelled(cancellation) : new DocketError('run.cancelled', 'The run was cancelled.');
    return endCancelled(record, error, told, ports);
  }
  if (stop === 'deadline') return giveUp(id, record, tooLong(deadlineMs), told, ports);
  if (stop === 'stopping' && outcome.kind !== 'snooze') return putBack(told);
  switch (outcome.kind) {
    case 'snooze': {
      // Another machine's clock computed `until`: one that is behind must not make us spin. Nobody sleeps past the deadline.
      const until = Math.max(Math.min(outcome.until, deadline + 1), clock.now() + LEAST_SLEEP_MS);
      await goOn({ ...told, state: 'waiting', until });
      log.debug('Run sleeps', { until: new Date(until).toISOString(), why: outcome.why });
      observe({ type: 'snoozed', until, why: outcome.why });
      return sleep(until);
    }
    case 'cancel':
      return endCancelled(record, new DocketError('run.cancelled', outcome.why), told, ports);
    case 'fail': {
      const { error } = outcome;
      if (isStorageOutage(error)) {
        const until = Math.min(clock.now() + storageWaitMs(clock.now() - startedAt, Math.random()), deadline + 1);
        await goOn({ ...told, state: 'waiting', until, error: error.toJSON() });
        log.warn('Run waits for its storage; no attempt is spent', {
          until: new Date(until).toISOString(),
          ...errorFields(error),
        });
        observe({ type: 'snoozed', until, why: error.message });
        return sleep(until);
      }
      if (!error.retryable || attempt >= attempts) return giveUp(id, record, error, told, ports);
      const delay = Math.max(0, Math.min(ports.backoff(attempt, error), deadline + 1 - clock.now()));
      await goOn({ ...told, state: 'waiting', until: clock.now() + delay, error: error.toJSON() });
      log.warn('Run failed and is tried again', { attempt, of: attempts, ms: delay, ...errorFields(error) });
      if (comesLate(job.priority, record.priority)) await job.changePriority({ priority: begun(record.priority) });
      throw new RetryLater(error.code, delay);
    }
  }
}

const errorFields = (error: DocketError): LogFields => ({
  ...(error.correlationId === undefined ? {} : { correlation_id: error.correlationId }),
  error: error.toJSON(),
});

/** @param all workers that went away with it in hand, since it was put in line */
function lossesOf({ losses, calls, deliveries, tokenWaitMs }: RunRecord, all: number): Losses {
  const far = calls.made + deliveries.length + tokenWaitMs;
  // A job that was put in line again begins to count anew.
  const more = all - (all < losses.all ? 0 : losses.all);
  return { all, stuck: more === 0 || far > losses.far ? more : losses.stuck + more, far };
}

const poisonous = ({ all, stuck }: Losses): DocketError =>
  new DocketError('run.poison', `${all} workers went away with the run in hand, the last ${stuck} at the same place.`, {
    next: 'Look at the memory of the workers and at the size of the report, then trigger it again.',
  });

/** @param last what it failed of or waited for last */
const tooLong = (deadlineMs: number, last?: string): DocketError =>
  new DocketError('run.deadline', 'The run took too long and was given up.', {
    expected: `an end within ${Math.round(deadlineMs / 60_000)} minutes of its first start`,
    ...(last === undefined ? {} : { got: `its last failure was: ${last}` }),
    next: 'See what it waited for, e.g. the budget of its API key, then trigger it again; `deadline` in its definition gives it more time.',
  });

async function endCancelled(
  order: RunOrder,
  error: DocketError,
  told: Partial<RunProgress>,
  { store, clock, log, observe }: RunJobPorts,
): Promise<never> {
  const { id: run, org, report } = order;
  await store.update(run, {
    ...told,
    state: 'cancelled',
    error: error.toJSON(),
    finishedAt: clock.now(),
    until: null,
  });
  log.info('Run cancelled', { run, org, report, why: error.message });
  observe?.(order, { type: 'finished', state: 'cancelled' });
  throw new UnrecoverableError('run.cancelled');
}

async function executed(
  record: RunRecord,
  execute: Execute,
  context: Parameters<Execute>[1],
): Promise<Outcome<RunResult>> {
  try {
    return await execute(record, context);
  } catch (thrown) {
    return fail(toDocketError(thrown));
  }
}

async function giveUp(
  id: string,
  order: RunOrder | undefined,
  error: DocketError,
  told: Told,
  { store, clock, log, onTerminal, observe }: RunJobPorts,
): Promise<never> {
  await store.update(id, { ...told, state: 'failed', error: error.toJSON(), finishedAt: clock.now(), until: null });
  const of = order === undefined ? {} : { org: order.org, report: order.report, slot: order.slot };
  log.error('Run failed for good', { run: id, ...of, ...errorFields(error) });
  if (order !== undefined) {
    await onTerminal?.(order, error).catch((thrown: unknown) => {
      log.error('The owner could not be told that the run has failed', {
        run: id,
        error: toDocketError(thrown).toJSON(),
      });
    });
    observe?.(order, { type: 'finished', state: 'failed', error: error.toJSON() });
  }
  throw new UnrecoverableError(error.code);
}
