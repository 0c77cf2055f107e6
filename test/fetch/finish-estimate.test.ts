import { expect, test } from 'vitest';
import { createFinishEstimator } from '../../src/fetch/call-runner.ts';
import { manualClock } from '../support/manual-clock.ts';

const START = 1_800_000_000_000;
const start = (calls: number) => {
  const clock = manualClock(START);
  return {
    clock,
    progress: createFinishEstimator({ calls, limits: { calls: 30, windowMs: 60_000 }, clock, concurrency: 4 }),
  };
};

test('calls that have a token take as long as those before them, four at once', () => {
  const { progress } = start(10);
  expect(progress.recordAnswer(29, 100)).toEqual({ done: 1, finish: START + 3 * 100 });
  expect(progress.recordAnswer(28, 300)).toEqual({ done: 2, finish: START + 2 * 200 });
});

test('calls without a token wait for windows', () => {
  const { progress } = start(50);
  // 49 are left for 9 tokens: 40 wait, which is two windows.
  expect(progress.recordAnswer(9, 100).finish).toBe(START + 2 * 60_000 + 100);
});

test('what the line has promised counts, and holds the first window', () => {
  const { clock, progress } = start(10);
  progress.recordWait(START + 45_000);
  expect(progress.recordAnswer(0, 100).finish).toBe(START + 45_000 + 100);
  clock.advance(46_000);
  expect(progress.recordAnswer(0, 100).finish).toBe(START + 46_000 + 60_000 + 100);
});

test('kept answers cost no time, and the last answer is the finish', () => {
  const { progress } = start(2);
  expect(progress.recordAnswer(null, null)).toEqual({ done: 1, finish: START });
  expect(progress.recordAnswer(null, null)).toEqual({ done: 2, finish: START });
});
