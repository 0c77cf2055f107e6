import type { Clock } from '../../base/clock.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import type { Pause, Pauses } from '../../queue/schedules/pauses.ts';
import { isLate } from '../../run/lateness.ts';
import type { RunRecord, RunStore } from '../../run/run-record.ts';
import { pauseOfRun } from './timeline/wait-reason.ts';

/** Unfinished runs among which late ones are searched; the newest first. */
const MAX_SEARCHED = 1000;

export interface LateRunPorts {
  readonly runs: RunStore;
  readonly pauses: Pauses;
  /** Without a report with `late_after` no run is read. */
  readonly reports: () => Iterable<Definition>;
  readonly clock: Clock;
}

const hasLateAfter = ({ schedule }: Definition): boolean => schedule.some((one) => one.late_after !== undefined);

/** Whether a run is late, by the pauses of its deployment. */
export const isLateNow = (record: RunRecord, pauses: readonly Pause[], now: number): boolean =>
  isLate(record, now, pauseOfRun(pauses, record) !== undefined);

/** Scheduled runs whose readers wait for longer than they expect. Throws `redis.unreachable`. */
export async function findLateRuns({ runs, pauses, reports, clock }: LateRunPorts): Promise<readonly RunRecord[]> {
  if (![...reports()].some(hasLateAfter)) return [];
  const [open, paused] = await Promise.all([
    runs.list({ states: ['queued', 'running', 'waiting'], limit: MAX_SEARCHED }),
    pauses.list(),
  ]);
  return open.filter((record) => isLateNow(record, paused, clock.now()));
}
