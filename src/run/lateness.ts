import { DAY_MS } from '../base/time.ts';
import type { RunOrder, RunRecord, RunState } from './run-record.ts';

/** Used without `late_after`: runs are ordered as if readers expected the report within a day. */
const DEFAULT_LATE_AFTER_MS = DAY_MS;
/** States that change by themselves. The other states are final or need a person, so such a run is not late. */
const MOVING_STATES: ReadonlySet<RunState> = new Set<RunState>(['queued', 'running', 'waiting']);

type OrderedRun = Pick<RunOrder, 'slot' | 'trigger' | 'lateAfterMs'>;

/** When readers expect a slot's report, epoch ms. An organization's runs start in this order. */
export const expectedAt = ({ slot, lateAfterMs = DEFAULT_LATE_AFTER_MS }: Omit<OrderedRun, 'trigger'>): number =>
  Date.parse(slot) + lateAfterMs;

/** When an unfinished run becomes late, epoch ms; undefined without `late_after`. */
export const lateAt = (run: OrderedRun): number | undefined =>
  run.trigger === 'schedule' && run.lateAfterMs !== undefined ? expectedAt(run) : undefined;

/**
 * Whether a run's readers wait longer than they expect. A run that waits for comments, approval, a decision or the end
 * of a pause is not late.
 *
 * @param isPaused whether its report or organization is paused
 */
export function isLate(run: OrderedRun & Pick<RunRecord, 'state'>, now: number, isPaused: boolean): boolean {
  const at = lateAt(run);
  return at !== undefined && now > at && MOVING_STATES.has(run.state) && !isPaused;
}
