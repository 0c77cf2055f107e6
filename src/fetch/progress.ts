import type { Clock } from '../base/clock.ts';
import type { BudgetLimits } from './budget.ts';

/** How far a run's calls have come, and when the last is expected. */
export interface Progress {
  /** A call waits for its token until then (epoch ms). */
  waits(until: number): void;
  /**
   * An answer has come.
   * @param tokens left on the key; null when none was taken
   * @param ms from dispatch to answer; null when nothing was asked
   */
  came(tokens: number | null, ms: number | null): { readonly done: number; readonly finish: number };
}

/**
 * The estimate: calls that have a token take as long as those before them did on average, `width` at once; the others
 * wait one window for each `limits.calls` of them, counted from what the line has promised last.
 */
export function createProgress(options: {
  readonly of: number;
  readonly limits: BudgetLimits;
  readonly clock: Clock;
  readonly width: number;
}): Progress {
  const { of, limits, clock, width } = options;
  const took: number[] = [];
  let answered = 0;
  let promised = 0;
  let free = limits.calls;
  return {
    waits: (until) => {
      promised = Math.max(promised, until);
      free = 0;
    },
    came: (tokens, ms) => {
      answered += 1;
      free = tokens ?? free;
      if (ms !== null) took.push(ms);
      const now = clock.now();
      const left = of - answered;
      const pace = took.reduce((sum, one) => sum + one, 0) / Math.max(1, took.length);
      const waiting = Math.max(0, left - free);
      if (waiting === 0) return { done: answered, finish: Math.round(now + Math.ceil(left / width) * pace) };
      const windows = Math.ceil(waiting / limits.calls) * limits.windowMs;
      // A promise already holds the first of those windows.
      const last = promised > now ? promised + windows - limits.windowMs : now + windows;
      return { done: answered, finish: Math.round(last + pace) };
    },
  };
}
