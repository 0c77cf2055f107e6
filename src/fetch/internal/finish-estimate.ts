import type { Clock } from '../../base/clock.ts';
import type { BudgetLimits } from '../rate-limit/budget.ts';

/** Progress of a run's calls, and when the last response is expected. */
export interface FinishEstimator {
  /** A call waits for its token until then (epoch ms). */
  recordWait(until: number): void;
  /**
   * A response was received.
   * @param tokens left on the key; null if none was taken
   * @param ms from dispatch to response; null if no request was made
   */
  recordAnswer(tokens: number | null, ms: number | null): { readonly done: number; readonly finish: number };
}

/**
 * Calls that have a token take the average duration so far, `concurrency` at once. The others wait one window per
 * `limits.calls` of them, from the latest expected grant on.
 */
export function createFinishEstimator(options: {
  readonly calls: number;
  readonly limits: BudgetLimits;
  readonly clock: Clock;
  readonly concurrency: number;
}): FinishEstimator {
  const { calls, limits, clock, concurrency } = options;
  const durations: number[] = [];
  let answered = 0;
  let latestGrantAt = 0;
  let freeTokens = limits.calls;
  return {
    recordWait: (until) => {
      latestGrantAt = Math.max(latestGrantAt, until);
      freeTokens = 0;
    },
    recordAnswer: (tokens, ms) => {
      answered += 1;
      freeTokens = tokens ?? freeTokens;
      if (ms !== null) durations.push(ms);
      const now = clock.now();
      const left = calls - answered;
      const averageMs = durations.reduce((sum, one) => sum + one, 0) / Math.max(1, durations.length);
      const waiting = Math.max(0, left - freeTokens);
      if (waiting === 0) return { done: answered, finish: Math.round(now + Math.ceil(left / concurrency) * averageMs) };
      const windowsMs = Math.ceil(waiting / limits.calls) * limits.windowMs;
      // An expected grant already includes the first of those windows.
      const last = latestGrantAt > now ? latestGrantAt + windowsMs - limits.windowMs : now + windowsMs;
      return { done: answered, finish: Math.round(last + averageMs) };
    },
  };
}
