import { expect, test } from 'vitest';
import { memoize } from '../../src/base/memoize.ts';

test('a memoized function is called once for each argument, and drops the oldest result', () => {
  const requested: number[] = [];
  const twice = memoize((n: number) => {
    requested.push(n);
    return n * 2;
  }, 2);
  expect([1, 1, 2, 1, 3, 1].map((n) => twice(n))).toEqual([2, 2, 4, 2, 6, 2]);
  expect(requested).toEqual([1, 2, 3, 1]);
});

test('a memoized function that throws is called again', () => {
  let times = 0;
  const fails = memoize((): number => {
    times += 1;
    throw new Error(`no ${times}`);
  }, 2);
  expect(fails).toThrow('no 1');
  expect(fails).toThrow('no 2');
});
