import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { localWaiters } from '../../../src/fetch/rate-limit/local-waiters.ts';
import { manualClock } from '../../support/manual-clock.ts';

const START = 1_800_000_000_000;
const KEY = 'k';
const WINDOW_MS = 60_000;

/** Waiters of one process: when each was told to acquire again, and when its sleeps ended, ms after the start. */
function start() {
  const clock = manualClock(START);
  const waiters = localWaiters();
  const woken: [string, number][] = [];
  const context = { clock, windowMs: WINDOW_MS, signal: new AbortController().signal };
  const sleep = async (id: string, at: number) => {
    await waiters.sleep(KEY, id, START + at, context);
    woken.push([id, clock.now() - START]);
  };
  /** It keeps its place: it acquires when it wakes, and sleeps on. */
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

test('the first waiter alone wakes half-way, until it is near to its token', async () => {
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

test('waiters that know a lower bound alone acquire early, together with one whose time has come', async () => {
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

test('a grant wakes the waiters that it names, unless they wake by themselves', async () => {
  const { clock, waiters, woken, sleep } = start();
  for (const [index, id] of ['soon', 'a', 'b', 'c'].entries()) void sleep(id, 900 + index * 200);
  waiters.wake(KEY, ['soon', 'b', 'of another process', 'c'], 4, clock.now() + 1_000);
  await setImmediate();
  expect(woken.map(([id]) => id)).toEqual(['b', 'c']);
});

test('a grant with more tokens than names wakes the first waiter here if those that it names sleep elsewhere', async () => {
  const { clock, waiters, woken, sleep } = start();
  for (const [index, id] of ['a', 'b'].entries()) void sleep(id, 2_000 + index);
  waiters.wake(KEY, ['x', 'y'], 2, clock.now() + 1_000);
  await setImmediate();
  expect(woken).toEqual([]);
  waiters.wake(KEY, ['x', 'y'], 3, clock.now() + 1_000);
  await setImmediate();
  expect(woken.map(([id]) => id)).toEqual(['a']);
});
