import { DocketError } from '../../base/error.ts';
import { DAY_MS, MINUTE_MS } from '../../base/time.ts';
import type { RunOrder, RunRecord, WorkerCrashes } from '../../run/run-record.ts';

/** A run that makes progress each time fails as well after this many times `maxCrashes`. */
const TOTAL_CRASH_FACTOR = 4;
/** For runs that older versions opened. */
const DEFAULT_DEADLINE_MS = DAY_MS;

export const deadlineMsOf = ({ deadlineMs }: RunOrder): number => deadlineMs ?? DEFAULT_DEADLINE_MS;

/** @param all workers that crashed with the run since its job was added */
export function countCrashes({ losses, calls, deliveries, tokenWaitMs }: RunRecord, all: number): WorkerCrashes {
  const far = calls.made + deliveries.length + tokenWaitMs;
  // A job that was added again counts from 0.
  const more = all - (all < losses.all ? 0 : losses.all);
  return { all, stuck: more === 0 || far > losses.far ? more : losses.stuck + more, far };
}

export const isPoisoned = ({ all, stuck }: WorkerCrashes, maxCrashes: number): boolean =>
  stuck >= maxCrashes || all >= maxCrashes * TOTAL_CRASH_FACTOR;

export const poisonError = ({ all, stuck }: WorkerCrashes): DocketError =>
  new DocketError('run.poison', `The run crashed ${all} workers, the last ${stuck} at the same point.`, {
    next: 'Check the memory of the workers, their logs and the size of the report, then retry it.',
  });

/** @param last the last error, or the reason of the last snooze */
export const deadlineError = (deadlineMs: number, last?: string): DocketError =>
  new DocketError('run.deadline', 'The run exceeded its deadline.', {
    expected: `an end within ${Math.round(deadlineMs / MINUTE_MS)} minutes of its first start`,
    ...(last === undefined ? {} : { got: `its last failure was: ${last}` }),
    next: 'Check what it waited for: `docket doctor` tests the service, the mail servers and the archive; `docket budget` shows the tokens of its API key. Then retry it. `deadline` in its definition allows more time.',
  });
