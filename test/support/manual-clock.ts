import { setImmediate } from 'node:timers/promises';
import type { SteadyClock } from '../../src/base/clock.ts';

export interface ManualClock extends SteadyClock {
  /** Moves time on. Sleepers whose time has come wake up. */
  advance(ms: number): void;
  set(now: number): void;
  /** Steps only the wall clock, as an administrator or a time server does. */
  step(ms: number): void;
  /** Resolves when somebody sleeps, optionally for exactly this long. */
  slept(ms?: number): Promise<void>;
}

/** A clock that stands still until a test moves it. */
export function manualClock(start: number): ManualClock {
  let now = start;
  let monotonic = 1_000_000;
  let sleepers: { ms: number; at: number; wake: () => void }[] = [];
  let reported: { ms: number | undefined; tell: () => void }[] = [];
  const move = (to: number) => {
    // A wall clock can be set back, the monotonic clock cannot.
    monotonic += Math.max(0, to - now);
    now = to;
    const due = sleepers.filter((sleeper) => sleeper.at <= now);
    sleepers = sleepers.filter((sleeper) => sleeper.at > now);
    for (const sleeper of due) sleeper.wake();
  };
  return {
    now: () => now,
    monotonic: () => monotonic,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const aborted = () => {
          sleepers = sleepers.filter((other) => other !== sleeper);
          reject(signal?.reason);
        };
        const sleeper = {
          ms,
          at: now + ms,
          wake: () => {
            signal?.removeEventListener('abort', aborted);
            resolve();
          },
        };
        sleepers.push(sleeper);
        signal?.addEventListener('abort', aborted);
        const hear = reported.filter((one) => one.ms === undefined || one.ms === ms);
        reported = reported.filter((one) => !hear.includes(one));
        for (const { tell } of hear) tell();
      }),
    advance: (ms) => move(now + ms),
    set: move,
    step: (ms) => {
      now += ms;
    },
    slept: (ms) =>
      sleepers.some((sleeper) => ms === undefined || sleeper.ms === ms)
        ? Promise.resolve()
        : new Promise((tell) => (reported = [...reported, { ms, tell }])),
  };
}

/** Moves the clock by `stepMs` whenever something sleeps, until the work is done. */
export async function advanceUntil<Value>(clock: ManualClock, work: Promise<Value>, stepMs: number): Promise<Value> {
  let over = false;
  const ended = work.finally(() => {
    over = true;
  });
  while (!over) {
    await Promise.race([clock.slept(), ended.catch(() => {})]);
    clock.advance(stepMs);
    await setImmediate();
  }
  return ended;
}
