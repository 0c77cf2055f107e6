import type { Schedule } from '../define/schedule.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Slots missed longer ago are not made up for, unless their schedule says another window. */
export const CATCH_UP_MS = 3 * DAY_MS;
/** A slot opened this late is not a missed one: the reconciler comes every minute. */
export const ON_TIME_MS = 5 * MINUTE_MS;

/** Why a slot is not opened: by the schedule's own `catch_up`, for a later slot, for its age, or because its report was paused until it was too old. */
export type SkipReason = 'catch_up' | 'superseded' | 'too_old' | 'paused';
export interface Skip {
  /** Epoch ms. */
  readonly slot: number;
  readonly why: SkipReason;
}

/** What a schedule says of slots that were missed. */
export interface CatchUp {
  readonly catchUp: Schedule['catch_up'];
  readonly windowMs: number;
}

/** What becomes of slots that came due. */
export interface Decision {
  /** Ascending. */
  readonly open: readonly number[];
  readonly skipped: readonly Skip[];
}

/**
 * Which of one schedule's slots that came due are opened, and which are not and why. Slots that are on time always are; of
 * those missed, `catch_up` says: none, all, or the latest – which is none when a later one is on time.
 *
 * @param slots ascending, epoch ms, none after `now`
 */
export function decide(slots: readonly number[], now: number, { catchUp, windowMs }: CatchUp): Decision {
  const onTime = slots.filter((slot) => slot >= now - ON_TIME_MS);
  const tooOld = slots.filter((slot) => slot < now - Math.max(windowMs, ON_TIME_MS));
  const missed = slots.slice(tooOld.length, slots.length - onTime.length);
  const made = catchUp === 'all' ? missed : catchUp === 'latest' && onTime.length === 0 ? missed.slice(-1) : [];
  const why: SkipReason = catchUp === 'skip' ? 'catch_up' : 'superseded';
  const left = catchUp === 'all' ? [] : missed.slice(0, missed.length - made.length);
  return {
    open: [...made, ...onTime],
    skipped: [
      ...tooOld.map((slot) => ({ slot, why: 'too_old' as const })),
      ...left.map((slot): Skip => ({ slot, why })),
    ],
  };
}

/** Of a report that is paused: slots wait, except those that no end of the pause could bring back. */
export function decidePaused(slots: readonly number[], now: number, { windowMs }: CatchUp): Decision {
  const lost = slots.filter((slot) => slot < now - Math.max(windowMs, ON_TIME_MS));
  return { open: [], skipped: lost.map((slot) => ({ slot, why: 'paused' })) };
}

/** Decisions of several schedules of one report: an instant that any of them opens is opened, once. */
export function together(decisions: readonly Decision[]): Decision {
  const open = new Set(decisions.flatMap((decision) => decision.open));
  const skipped = new Map<number, Skip>();
  for (const skip of decisions.flatMap((decision) => decision.skipped)) {
    if (!open.has(skip.slot) && !skipped.has(skip.slot)) skipped.set(skip.slot, skip);
  }
  return {
    open: [...open].sort((a, b) => a - b),
    skipped: [...skipped.values()].sort((a, b) => a.slot - b.slot),
  };
}
