import { setImmediate } from 'node:timers/promises';
import type { SteadyClock } from '../../base/clock.ts';

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/** A clock whose time passes only when everybody is asleep, and then jumps to the next wake-up. */
export interface VirtualClock extends SteadyClock {
  /**
   * Resolves when everybody sleeps or waits for a turn, and this name is the first of those waiting. So events of the
   * same millisecond happen in the order of names, not in the order of promises.
   */
  turn(name: string): Promise<void>;
  /** Wakes the sleepers in the order of their times, until nobody sleeps. */
  run(): Promise<void>;
}

/** @param start epoch ms */
export function virtualClock(start: number): VirtualClock {
  let now = start;
  /** Sorted so that the next sleeper is last. Of sleepers with equal times, the one that came first is next. */
  const sleepers: Sleeper[] = [];
  const turns: { readonly name: string; readonly begin: () => void }[] = [];
  const firstTurn = () => {
    let first = 0;
    for (const [index, { name }] of turns.entries()) if (name < (turns[first]?.name ?? '')) first = index;
    return turns.splice(first, 1)[0];
  };
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
    turn: (name) =>
      new Promise((resolve) => {
        turns.push({ name, begin: resolve });
      }),
    run: async () => {
      for (;;) {
        // By then, everything that the last woken sleeper does by promises alone has happened.
        await setImmediate();
        const turn = firstTurn();
        if (turn !== undefined) {
          turn.begin();
          continue;
        }
        const next = sleepers.at(-1);
        if (next === undefined) return;
        now = next.at;
        while (sleepers.at(-1)?.at === now) sleepers.pop()?.wake();
      }
    },
  };
}
