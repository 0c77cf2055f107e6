import { setImmediate } from 'node:timers/promises';
import type { SteadyClock } from '../../base/clock.ts';

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/** A clock whose time passes only while everybody sleeps by it, and then at once. */
export interface VirtualClock extends SteadyClock {
  /** Wakes the sleepers one after the other, in the order of their instants, until nobody sleeps. */
  run(): Promise<void>;
}

/** @param start epoch ms */
export function virtualClock(start: number): VirtualClock {
  let now = start;
  /** The next one is the last; of equal instants the one that came first. */
  const sleepers: Sleeper[] = [];
  const add = (sleeper: Sleeper): void => {
    let [low, high] = [0, sleepers.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sleepers[middle]?.at ?? 0) > sleeper.at) low = middle + 1;
      else high = middle;
    }
    sleepers.splice(low, 0, sleeper);
  };
  return {
    now: () => now,
    monotonic: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const abort = () => {
          sleepers.splice(sleepers.indexOf(sleeper), 1);
          reject(signal?.reason);
        };
        const sleeper: Sleeper = {
          at: now + Math.max(0, ms),
          wake: () => {
            signal?.removeEventListener('abort', abort);
            resolve();
          },
        };
        signal?.addEventListener('abort', abort, { once: true });
        add(sleeper);
      }),
    run: async () => {
      for (;;) {
        // What the last one to wake does by promises alone is over then.
        await setImmediate();
        const next = sleepers.pop();
        if (next === undefined) return;
        now = next.at;
        next.wake();
      }
    },
  };
}
