export const LIMITER_ALGORITHMS = ['sliding', 'fixed', 'token-bucket'] as const;
export type LimiterAlgorithm = (typeof LIMITER_ALGORITHMS)[number];

/** Counts calls by name. A rejected call does not count. */
export interface Limiter {
  /** Returns 0 if the call is allowed, and counts it. Otherwise returns the ms until the next call is allowed. */
  acquire(name: string, now: number): number;
}

/**
 * Allows at most `calls` per window, by one of three algorithms, because the specification does not define one (§8).
 * `sliding`: a log of the calls in the last window. `fixed`: windows are aligned to the clock, so two bursts may meet
 * at a boundary. `token-bucket`: full at the start, refilled evenly.
 */
export function createLimiter(kind: LimiterAlgorithm, calls: number, windowMs: number): Limiter {
  const names = new Map<string, number[]>();
  const state = (name: string, initial: () => number[]): number[] => {
    const held = names.get(name) ?? initial();
    names.set(name, held);
    return held;
  };
  if (kind === 'sliding') {
    return {
      acquire(name, now) {
        const log = state(name, () => []);
        while (log[0] !== undefined && log[0] <= now - windowMs) log.shift();
        if (log.length >= calls) return (log[0] ?? now) + windowMs - now;
        log.push(now);
        return 0;
      },
    };
  }
  if (kind === 'fixed') {
    return {
      acquire(name, now) {
        const window = Math.floor(now / windowMs);
        const held = state(name, () => [window, 0]);
        const count = held[0] === window ? (held[1] ?? 0) : 0;
        if (count >= calls) return (window + 1) * windowMs - now;
        held[0] = window;
        held[1] = count + 1;
        return 0;
      },
    };
  }
  // Counted in whole numbers (a call costs `windowMs`, a millisecond refills `calls`). Fractions of a token would be
  // rounded, so a call at exactly the announced moment could be refused.
  const full = calls * windowMs;
  return {
    acquire(name, now) {
      const held = state(name, () => [full, now]);
      const level = Math.min(full, (held[0] ?? 0) + (now - (held[1] ?? now)) * calls);
      held[1] = now;
      held[0] = level;
      if (level < windowMs) return Math.ceil((windowMs - level) / calls);
      held[0] = level - windowMs;
      return 0;
    },
  };
}
