import type { Clock } from '../base/clock.ts';
import type { BudgetLimits } from './budget.ts';

/** How far a run's calls have come, and when the last is expected. */
export interface Progress {
  /** A call waits for its token until then (epoch ms). */
  waits(until: number): void;
  /** An answer has come. `tokens`: left on the key, or null when none was taken. */
  came(tokens: number | null): { readonly done: number; readonly finish: number };
}

/**
 * The estimate: calls that have a token take as long as those before them did, `width` at once; the others wait for
 * one window for each `limits.calls` of them, from the latest time that the line has promised.
 */
export function createProgress(options: {
  readonly of: number;
  readonly limits: BudgetLimits;
  readonly clock: Clock;
  readonly width: number;
}): Progress {
  const { of, limits, clock, width } = options;
  const started = clock.now();
  let answered = 0;
  let promised = 0;
  let free: number = limits.calls;
  return {
    waits: (until) => {
      promised = Math.max(promised, until);
      free = 0;
    },
    came: (tokens) => {
      answered += 1;
      free = tokens ?? free;
      const now = clock.now();
      const left = of - answered;
      const waiting = Math.max(0, left - free);
      const pace = (now - started) / answered;
      const windows = waiting === 0 ? 0 : Math.ceil(waiting / limits.calls) * limits.windowMs;
      // A promise in the line already holds the first of those windows.
      const from = waiting > 0 && promised > now ? promised - limits.windowMs : now;
      return {
        done: answered,
        finish: left === 0 ? now : Math.round(Math.max(from + windows, now) + (pace * Math.min(left, width)) / width),
      };
    },
  };
}
