import { setImmediate } from 'node:timers/promises';
import type { SteadyClock } from '../../base/clock.ts';

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/** A clock whose time passes only while everybody sleeps by it, and then at once. */
export interface VirtualClock extends SteadyClock {
  /**
   * Resolves when everybody sleeps or waits for a turn, and this name is the first of those that wait. So what happens in
   * the same millisecond happens in the order of names, and not in that of promises.
   */
  turn(name: string): Promise<void>;
  /** Wakes the sleepers in the order of their instants, until nobody sleeps. */
  run(): Promise<void>;
}

/** @param start epoch ms */
export function virtualClock(start: number): VirtualClock {
  let now = start;
  /** The next one is the last; of equal instants the one that came first. */
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
        // What the last one to wake does by promises alone is over then.
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
