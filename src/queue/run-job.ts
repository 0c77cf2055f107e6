import { DelayedError, type Job, UnrecoverableError } from 'bullmq';
import type { Clock } from '../base/clock.ts';
import { DocketError, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { fail, type Outcome } from '../base/outcome.ts';
import type { Observe, RunEvent } from '../run/event.ts';
import { ENDED, type RunOrder, type RunRecord, type RunStore } from '../run/record.ts';
import type { RunResult } from '../run/result.ts';
import { RetryLater } from './backoff.ts';
import { ATTEMPTS, readRunJob } from './jobs.ts';
import { recordProgress, resultFields } from './progress.ts';

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
  },
) => Promise<Outcome<RunResult>>;

/** What trying a run needs; `WorkerOptions` explains each. */
export interface RunJobPorts {
  readonly store: RunStore;
  readonly execute: Execute;
  readonly observe?: (order: RunOrder, event: RunEvent) => void;
  readonly onTerminal?: (order: RunOrder, error: DocketError) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  readonly deadlineMs: number;
  readonly maxLost: number;
  /** Ms before the next try, after so many that failed. */
  readonly backoff: (failed: number) => number;
}

const LEAST_SLEEP_MS = 100;

/** A run in hand, and why it was told to stop: its worker stops, or the job is another worker's now. */
export interface InHand {
  readonly controller: AbortController;
  stop?: 'stopping' | 'lost';
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
    if (error.code === 'redis.unreachable') throw error;
    // A record that nobody can read would come back for ever.
    return giveUp(run, undefined, error, ports);
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
  ports: RunJobPorts,
): Promise<void> {
  const { store, clock, log } = ports;
  const { id } = record;
  const observe = (event: RunEvent) => ports.observe?.(record, event);
  const sleep = async (until: number): Promise<never> => {
    await job.moveToDelayed(until, token);
    throw new DelayedError();
  };
  const putBack = async (): Promise<never> => {
    await store.update(id, { state: 'queued', until: null });
    log.info('Run put back in line: the worker stops', { run: id });
    return sleep(clock.now());
  };

  if (hand.stop === 'stopping') return putBack();
  const startedAt = record.startedAt ?? clock.now();
  const hopeless = hopelessness(job, startedAt, ports);
  if (hopeless !== undefined) return giveUp(id, record, hopeless, ports);
  await store.update(id, { state: 'running', startedAt, until: null });
  const progress = recordProgress(store, record, (error) =>
    log.warn('The progress of the run could not be written down', { run: id, error: error.toJSON() }),
  );
  const attempt = job.attemptsMade + 1;
  const attempts = job.opts.attempts ?? ATTEMPTS;
  const outcome = await executed(record, ports.execute, {
    signal: hand.controller.signal,
    observe: (event) => {
      progress.observe(event);
      observe(event);
    },
    attempt,
    lastAttempt: attempt >= attempts,
    released: record.reopened.some(({ what }) => what === 'release'),
  });
  if (hand.stop === 'lost') {
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
      log.info('Run ended', { run: id, org: record.org, report: record.report, state: outcome.value.state });
      observe({ type: 'finished', state: outcome.value.state });
      return;
    }
    case 'snooze': {
      // Another machine's clock computed `until`: one that is behind must not make us spin.
      const until = Math.max(outcome.until, clock.now() + LEAST_SLEEP_MS);
      await store.update(id, { state: 'waiting', until });
      log.debug('Run sleeps', { run: id, until: new Date(until).toISOString(), why: outcome.why });
      observe({ type: 'snoozed', until, why: outcome.why });
      return sleep(until);
    }
    case 'cancel': {
      if (hand.stop === 'stopping') return putBack();
      const error = new DocketError('run.cancelled', outcome.why).toJSON();
      await store.update(id, { state: 'cancelled', error, finishedAt: clock.now(), until: null });
      log.info('Run cancelled', { run: id, why: outcome.why });
      observe({ type: 'finished', state: 'cancelled' });
      throw new UnrecoverableError('run.cancelled');
    }
    case 'fail': {
      const { error } = outcome;
      if (hand.stop === 'stopping') return putBack();
      if (!error.retryable || attempt >= attempts) return giveUp(id, record, error, ports);
      const delay = ports.backoff(attempt);
      await store.update(id, { state: 'waiting', until: clock.now() + delay, error: error.toJSON() });
      log.warn(`Run failed; try ${attempt + 1} of ${attempts} follows`, { run: id, ms: delay, error: error.toJSON() });
      throw new RetryLater(error.code, delay);
    }
  }
}

/** Why no further try is worth it, or undefined. */
function hopelessness(
  job: Job,
  startedAt: number,
  { clock, deadlineMs, maxLost }: RunJobPorts,
): DocketError | undefined {
  if (job.stalledCounter >= maxLost) {
    return new DocketError('run.poison', `The run took down its worker ${job.stalledCounter} times.`, {
      next: 'Look at the memory of the workers and at the size of the report, then trigger it again.',
    });
  }
  if (clock.now() - startedAt > deadlineMs) {
    return new DocketError('run.deadline', 'The run took too long and was given up.', {
      expected: `an end within ${Math.round(deadlineMs / 60_000)} minutes of its first start`,
      next: 'See what it waited for, e.g. the budget of its API key, then trigger it again.',
    });
  }
  return undefined;
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
  { store, clock, log, onTerminal, observe }: RunJobPorts,
): Promise<never> {
  await store.update(id, { state: 'failed', error: error.toJSON(), finishedAt: clock.now(), until: null });
  const of = order === undefined ? {} : { org: order.org, report: order.report, slot: order.slot };
  log.error('Run failed for good', { run: id, ...of, error: error.toJSON() });
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
