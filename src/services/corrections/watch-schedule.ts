import { DAY_MS, SECOND_MS } from '../../base/time.ts';

/** The figures of an edition are compared once a day. */
const CHECK_INTERVAL_MS = DAY_MS;
/** The last comparison may be late by this much: there may be no spare tokens, or no worker, for a while. */
const MAX_LATENESS_MS = 7 * DAY_MS;

export interface WatchedTimes {
  /** When the edition was delivered, epoch ms. */
  readonly deliveredAt: number;
  /** Seconds. */
  readonly watch: number;
  /** When its figures were compared last, epoch ms; undefined before the first time. */
  readonly checkedAt: number | undefined;
}

/**
 * When the figures of an edition are compared next, epoch ms: once a day, and at the end of the watch. Undefined when it is
 * over.
 */
export function nextCheckAt(
  { deliveredAt, watch, checkedAt = deliveredAt }: WatchedTimes,
  now: number,
): number | undefined {
  const end = deliveredAt + watch * SECOND_MS;
  if (checkedAt >= end || now > end + MAX_LATENESS_MS) return undefined;
  return Math.min(checkedAt + CHECK_INTERVAL_MS, end);
}
