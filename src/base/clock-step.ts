/** A reading of another machine's wall clock, taken between two of our monotonic clock; all ms. */
export interface WallReading {
  readonly wall: number;
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** Less than this (ms) is no step that anybody has to know of. */
const MIN_STEP_MS = 250;
/** What two clocks may drift apart, and a time server correct bit by bit, in ms a ms. */
const MAX_DRIFT = 0.0005;

/**
 * Tells the steps of a wall clock by ours, which never steps: each reading bounds how far the two are apart, and two whose
 * bounds do not meet are of either side of a step. Delays widen the bounds and make no step.
 *
 * @returns takes a reading, in any order; the step in ms where it shows one
 */
export function clockSteps(): (reading: WallReading) => number | undefined {
  let bounds: { readonly low: number; readonly high: number; readonly at: number } | undefined;
  return ({ wall, sentAt, receivedAt }) => {
    // Whole milliseconds: the rest was cut off.
    const now = { low: wall - receivedAt, high: wall + 1 - sentAt, at: receivedAt };
    if (bounds === undefined) {
      bounds = now;
      return undefined;
    }
    const drift = Math.abs(now.at - bounds.at) * MAX_DRIFT;
    const [low, high] = [bounds.low - drift, bounds.high + drift];
    const apart = now.low > high ? now.low - high : now.high < low ? now.high - low : 0;
    if (apart === 0) bounds = { low: Math.max(low, now.low), high: Math.min(high, now.high), at: now.at };
    else {
      const step = (now.low + now.high - low - high) / 2;
      bounds = now;
      if (Math.abs(apart) >= MIN_STEP_MS) return Math.round(step);
    }
    return undefined;
  };
}
