import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { localWaiters } from '../../../src/fetch/rate-limit/local-waiters.ts';
import { manualClock } from '../../support/manual-clock.ts';

const START = 1_800_000_000_000;
const KEY = 'k';
const WINDOW_MS = 60_000;

/** Waiters of one process. `woken` lists who woke when, in ms after the start. */
function start() {
  const clock = manualClock(START);
  const waiters = localWaiters();
  const woken: [string, number][] = [];
  const context = { clock, windowMs: WINDOW_MS, signal: new AbortController().signal };
  const sleep = async (id: string, at: number) => {
    await waiters.sleep(KEY, id, START + at, context);
    woken.push([id, clock.now() - START]);
  };
  /** A waiter that keeps its place: it acquires whenever it wakes, and sleeps again. */
  const keepPlace = async (id: string, at: number) => {
    while (clock.now() < START + at) await sleep(id, at);
  };
  const advanceTo = async (at: number) => {
    for (let now = clock.now() - START; now < at; now += 100) {
      clock.advance(100);
      await setImmediate();
    }
  };
  return { clock, waiters, woken, sleep, keepPlace, advanceTo };
}

test('only the first waiter wakes half-way to its token, until the token is near', async () => {
  const { woken, keepPlace, advanceTo } = start();
  void keepPlace('first', 50_000);
  void keepPlace('second', 59_000);
  await advanceTo(50_000);
  expect(woken).toEqual([
    ['first', 25_000],
    ['first', 37_500],
    ['first', 50_000],
  ]);
});

test('a waiter that knows only a lower bound of its time wakes early, together with one that is due', async () => {
  const { woken, sleep, keepPlace, advanceTo } = start();
  void keepPlace('first', 14_000);
  void keepPlace('next', 50_000);
  void sleep('exact', 59_000);
  void sleep('within a quarter of a window', 65_000);
  void sleep('later', 65_001);
  await advanceTo(50_000);
  expect(woken.filter(([, at]) => at === 50_000).map(([id]) => id)).toEqual(['next', 'within a quarter of a window']);
  expect(woken.map(([id]) => id)).not.toContain('exact');
  expect(woken.map(([id]) => id)).not.toContain('later');
});

test('a grant wakes the waiters that it names, unless they will soon wake by themselves', async () => {
  const { clock, waiters, woken, sleep } = start();
  for (const [index, id] of ['soon', 'a', 'b', 'c'].entries()) void sleep(id, 900 + index * 200);
  waiters.wake(KEY, ['soon', 'b', 'of another process', 'c'], 4, clock.now() + 1_000);
  await setImmediate();
  expect(woken.map(([id]) => id)).toEqual(['b', 'c']);
});

test('a grant that names waiters of other processes wakes the first local one if a token is left over', async () => {
  const { clock, waiters, woken, sleep } = start();
  for (const [index, id] of ['a', 'b'].entries()) void sleep(id, 2_000 + index);
  waiters.wake(KEY, ['x', 'y'], 2, clock.now() + 1_000);
  await setImmediate();
  expect(woken).toEqual([]);
  waiters.wake(KEY, ['x', 'y'], 3, clock.now() + 1_000);
  await setImmediate();
  expect(woken.map(([id]) => id)).toEqual(['a']);
});
