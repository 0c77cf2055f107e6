import { DAY_MS, MINUTE_MS } from '../../base/time.ts';
import type { Schedule } from '../../definitions/schedules/schedule.ts';

/** Missed slots older than this are not caught up, unless their schedule sets another window. */
export const DEFAULT_CATCH_UP_WINDOW_MS = 3 * DAY_MS;
/** A slot opened within this time is on time, because the reconciler runs every minute. */
export const ON_TIME_TOLERANCE_MS = 5 * MINUTE_MS;

/**
 * Why a slot is not opened: `catch_up: skip`, a later slot replaces it, it is too old, or a pause lasted until it was.
 */
export type SkipReason = 'catch_up' | 'superseded' | 'too_old' | 'paused';
export interface SkippedSlot {
  /** Epoch ms. */
  readonly slot: number;
  readonly why: SkipReason;
}

/** A schedule's policy for missed slots. */
export interface CatchUpPolicy {
  readonly catchUp: Schedule['catch_up'];
  readonly windowMs: number;
}

export interface CatchUpDecision {
  /** Ascending. */
  readonly open: readonly number[];
  readonly skipped: readonly SkippedSlot[];
}

/**
 * Decides which due slots of a schedule are opened and which are skipped. Slots on time are opened. Of the missed
 * slots, `catch_up` opens none, all, or the latest; `latest` opens none if a later slot is on time.
 *
 * @param slots ascending, epoch ms, none after `now`
 */
export function decideCatchUp(
  slots: readonly number[],
  now: number,
  { catchUp, windowMs }: CatchUpPolicy,
): CatchUpDecision {
  const onTime = slots.filter((slot) => slot >= now - ON_TIME_TOLERANCE_MS);
  const tooOld = slots.filter((slot) => slot < now - Math.max(windowMs, ON_TIME_TOLERANCE_MS));
  const missed = slots.slice(tooOld.length, slots.length - onTime.length);
  const caughtUp = catchUp === 'all' ? missed : catchUp === 'latest' && onTime.length === 0 ? missed.slice(-1) : [];
  const why: SkipReason = catchUp === 'skip' ? 'catch_up' : 'superseded';
  const skipped = catchUp === 'all' ? [] : missed.slice(0, missed.length - caughtUp.length);
  return {
    open: [...caughtUp, ...onTime],
    skipped: [
      ...tooOld.map((slot) => ({ slot, why: 'too_old' as const })),
      ...skipped.map((slot): SkippedSlot => ({ slot, why })),
    ],
  };
}

/** Decides during a pause: slots stay due, except those too old to be caught up. */
export function decideWhilePaused(slots: readonly number[], now: number, { windowMs }: CatchUpPolicy): CatchUpDecision {
  const tooOld = slots.filter((slot) => slot < now - Math.max(windowMs, ON_TIME_TOLERANCE_MS));
  return { open: [], skipped: tooOld.map((slot) => ({ slot, why: 'paused' })) };
}

/** Merges the decisions of a report's schedules. A slot that any of them opens is opened, once. */
export function mergeDecisions(decisions: readonly CatchUpDecision[]): CatchUpDecision {
  const open = new Set(decisions.flatMap((decision) => decision.open));
  const skipped = new Map<number, SkippedSlot>();
  for (const skip of decisions.flatMap((decision) => decision.skipped)) {
    if (!open.has(skip.slot) && !skipped.has(skip.slot)) skipped.set(skip.slot, skip);
  }
  return {
    open: [...open].sort((a, b) => a - b),
    skipped: [...skipped.values()].sort((a, b) => a.slot - b.slot),
  };
}
