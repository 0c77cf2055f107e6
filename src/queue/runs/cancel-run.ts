import type { Clock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { SECOND_MS } from '../../base/time.ts';
import {
  type DecisionAuthor,
  isInlineRun,
  type RunRecord,
  runNotFoundError,
  TERMINAL_STATES,
} from '../../run/run-record.ts';
import type { RunQueue } from '../jobs/run-queue.ts';
import { cancelledError, type RedisRunStore } from './run-store.ts';

/** The runs in Redis, with their jobs. */
export interface QueuedRuns {
  readonly runs: RedisRunStore;
  readonly queue: RunQueue;
  readonly clock: Clock;
  readonly log: Log;
}

/** How long to wait for the run's worker, which polls every second, ms. */
const CANCEL_TIMEOUT_MS = 3 * SECOND_MS;
const CANCEL_POLL_INTERVAL_MS = 100;

/**
 * Cancels a run. A waiting run ends at once. A run that a worker executes stops before its next step, after the current
 * delivery is settled. This function returns its record after at most three seconds, with `cancel` set and possibly
 * still `running`. Cancelling again changes nothing.
 *
 * Throws `run.not_found`, and `run.conflict` for a run that ended otherwise.
 */
export async function cancelRun(id: string, { by, reason }: DecisionAuthor, ports: QueuedRuns): Promise<RunRecord> {
  const { runs, clock, log } = ports;
  const requested = await runs.requestCancel(id, { by, reason, at: clock.now() });
  if (requested === undefined) throw runNotFoundError(id);
  if (!TERMINAL_STATES.has(requested.state)) {
    const { org, report } = requested;
    log.info('Run cancellation requested', { run: id, org, report, who: by, why: reason });
  }
  const until = clock.now() + CANCEL_TIMEOUT_MS;
  for (let record = requested; ; record = (await runs.get(id)) ?? record) {
    if (record.state === 'cancelled') return record;
    if (TERMINAL_STATES.has(record.state)) throw alreadyEndedError(record);
    // The worker that snoozes the run will release its job soon.
    if (await cancelIfIdle(record, ports)) continue;
    if (clock.now() >= until) return record;
    await clock.sleep(CANCEL_POLL_INTERVAL_MS);
  }
}

/**
 * Ends a run with a requested cancellation if no process executes it. False while a worker or the run's command does.
 */
export async function cancelIfIdle(record: RunRecord, { runs, queue, clock, log }: QueuedRuns): Promise<boolean> {
  if (record.cancel === null || isInlineRun(record) || !(await queue.remove(record.id))) return false;
  const error = cancelledError(record.cancel).toJSON();
  await runs.update(record.id, { state: 'cancelled', error, finishedAt: clock.now(), until: null });
  log.info('Run cancelled', { run: record.id, org: record.org, report: record.report, why: error.message });
  return true;
}

const alreadyEndedError = ({ id, state }: RunRecord): DocketError =>
  new DocketError('run.conflict', `Run ${id} has already ended.`, {
    expected: 'a run that is queued, running or waiting',
    got: state,
    next: `See \`docket runs show ${id}\`.`,
  });
