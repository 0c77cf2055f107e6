import type { Definition } from '../../definitions/schema/report-definition.ts';
import type { Pause } from '../../queue/schedules/pauses.ts';
import { isLate } from '../../run/lateness.ts';
import type { RunRecord } from '../../run/run-record.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { pauseOfRun } from './timeline/wait-reason.ts';

/** How many unfinished runs to search for late ones, newest first. */
const MAX_SEARCHED = 1000;

const hasLateAfter = ({ schedule }: Definition): boolean => schedule.some((one) => one.late_after !== undefined);

/** Whether a run is late, considering the deployment's pauses. */
export const isLateNow = (record: RunRecord, pauses: readonly Pause[], now: number): boolean =>
  isLate(record, now, pauseOfRun(pauses, record) !== undefined);

/**
 * Finds scheduled runs whose readers wait longer than they expect. Throws `redis.unreachable`.
 *
 * @param reports if none of them has `late_after`, no run is read
 */
export async function findLateRuns(
  { runs, pauses, clock }: Deployment,
  reports: Iterable<Definition>,
): Promise<readonly RunRecord[]> {
  if (![...reports].some(hasLateAfter)) return [];
  const [open, paused] = await Promise.all([
    runs.list({ states: ['queued', 'running', 'waiting'], limit: MAX_SEARCHED }),
    pauses.list(),
  ]);
  return open.filter((record) => isLateNow(record, paused, clock.now()));
}
