import { expect, test } from 'vitest';
import { createProgress } from '../../src/fetch/progress.ts';
import { manualClock } from '../support/manual-clock.ts';

const START = 1_800_000_000_000;
const start = (of: number) => {
  const clock = manualClock(START);
  return { clock, progress: createProgress({ of, limits: { calls: 30, windowMs: 60_000 }, clock, width: 4 }) };
};

test('calls that have a token take as long as those before them, four at once', () => {
  const { progress } = start(10);
  expect(progress.came(29, 100)).toEqual({ done: 1, finish: START + 3 * 100 });
  expect(progress.came(28, 300)).toEqual({ done: 2, finish: START + 2 * 200 });
});

test('calls without a token wait for windows', () => {
  const { progress } = start(50);
  // 49 are left for 9 tokens: 40 wait, which is two windows.
  expect(progress.came(9, 100).finish).toBe(START + 2 * 60_000 + 100);
});

test('what the line has promised counts, and holds the first window', () => {
  const { clock, progress } = start(10);
  progress.waits(START + 45_000);
  expect(progress.came(0, 100).finish).toBe(START + 45_000 + 100);
  clock.advance(46_000);
  expect(progress.came(0, 100).finish).toBe(START + 46_000 + 60_000 + 100);
});

test('kept answers cost no time, and the last answer is the finish', () => {
  const { progress } = start(2);
  expect(progress.came(null, null)).toEqual({ done: 1, finish: START });
  expect(progress.came(null, null)).toEqual({ done: 2, finish: START });
});
