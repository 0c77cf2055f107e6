import type { Definition } from '../../definitions/schema/report-definition.ts';
import type { Pause } from '../../queue/schedules/pauses.ts';
import { isLate } from '../../run/lateness.ts';
import type { RunRecord } from '../../run/run-record.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { pauseOfRun } from './timeline/wait-reason.ts';

/** Unfinished runs among which late ones are searched; the newest first. */
const MAX_SEARCHED = 1000;

const hasLateAfter = ({ schedule }: Definition): boolean => schedule.some((one) => one.late_after !== undefined);

/** Whether a run is late, by the pauses of its deployment. */
export const isLateNow = (record: RunRecord, pauses: readonly Pause[], now: number): boolean =>
  isLate(record, now, pauseOfRun(pauses, record) !== undefined);

/**
 * Scheduled runs whose readers wait for longer than they expect. Throws `redis.unreachable`.
 *
 * @param reports without one with `late_after` no run is read
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
