/** A reading of a remote wall clock between two readings of our monotonic clock; ms. */
export interface WallClockReading {
  readonly wall: number;
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** Smaller steps (ms) are ignored. */
const MIN_STEP_MS = 250;
/** Drift between two clocks, ms per ms; time servers correct it gradually. */
const MAX_DRIFT = 0.0005;

/**
 * Detects steps of a remote wall clock by comparing it with our monotonic clock. Each reading gives bounds for the offset of
 * the two clocks; readings with disjoint bounds are from before and after a step. Network delays only widen the bounds.
 *
 * @returns takes readings in any order; returns the step in ms where one shows
 */
export function clockStepDetector(): (reading: WallClockReading) => number | undefined {
  let bounds: { readonly low: number; readonly high: number; readonly at: number } | undefined;
  return ({ wall, sentAt, receivedAt }) => {
    // `wall` is truncated to whole milliseconds.
    const now = { low: wall - receivedAt, high: wall + 1 - sentAt, at: receivedAt };
    if (bounds === undefined) {
      bounds = now;
      return undefined;
    }
    const drift = Math.abs(now.at - bounds.at) * MAX_DRIFT;
    const [low, high] = [bounds.low - drift, bounds.high + drift];
    const gap = now.low > high ? now.low - high : now.high < low ? now.high - low : 0;
    if (gap === 0) bounds = { low: Math.max(low, now.low), high: Math.min(high, now.high), at: now.at };
    else {
      const step = (now.low + now.high - low - high) / 2;
      bounds = now;
      if (Math.abs(gap) >= MIN_STEP_MS) return Math.round(step);
    }
    return undefined;
  };
}
