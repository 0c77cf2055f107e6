import { DAY_MS, SECOND_MS } from '../../base/time.ts';

/** How often an edition's figures are compared. */
const CHECK_INTERVAL_MS = DAY_MS;
/** How late the last comparison may be: for a while, there may be no spare tokens or no worker. */
const MAX_LATENESS_MS = 7 * DAY_MS;

export interface WatchedTimes {
  /** When the edition was delivered, epoch ms. */
  readonly deliveredAt: number;
  /** How long the edition is watched, in seconds. */
  readonly watch: number;
  /** When its figures were last compared, epoch ms; undefined before the first time. */
  readonly checkedAt: number | undefined;
}

/**
 * When an edition's figures are compared next, epoch ms: once a day, and at the end of the watch. Undefined once the
 * watch is over.
 */
export function nextCheckAt(
  { deliveredAt, watch, checkedAt = deliveredAt }: WatchedTimes,
  now: number,
): number | undefined {
  const end = deliveredAt + watch * SECOND_MS;
  if (checkedAt >= end || now > end + MAX_LATENESS_MS) return undefined;
  return Math.min(checkedAt + CHECK_INTERVAL_MS, end);
}
