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

test('calls with a token are estimated from the average duration so far, four at a time', () => {
  const { progress } = start(10);
  expect(progress.recordAnswer(29, 100)).toEqual({ done: 1, finish: START + 3 * 100 });
  expect(progress.recordAnswer(28, 300)).toEqual({ done: 2, finish: START + 2 * 200 });
});

test('calls without a token are estimated to wait for further windows', () => {
  const { progress } = start(50);
  // 49 calls are left and 9 tokens: 40 calls wait, for two windows.
  expect(progress.recordAnswer(9, 100).finish).toBe(START + 2 * 60_000 + 100);
});

test('a known wait is part of the estimate and covers its first window', () => {
  const { clock, progress } = start(10);
  progress.recordWait(START + 45_000);
  expect(progress.recordAnswer(0, 100).finish).toBe(START + 45_000 + 100);
  clock.advance(46_000);
  expect(progress.recordAnswer(0, 100).finish).toBe(START + 46_000 + 60_000 + 100);
});

test('stored responses take no time, and the last response is the finish', () => {
  const { progress } = start(2);
  expect(progress.recordAnswer(null, null)).toEqual({ done: 1, finish: START });
  expect(progress.recordAnswer(null, null)).toEqual({ done: 2, finish: START });
});
