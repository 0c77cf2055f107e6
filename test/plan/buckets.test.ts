import { describe, expect, test } from 'vitest';
import {
  type Bucket,
  buildBuckets,
  dayCount,
  endOfDay,
  previousPeriod,
  sameDays,
  sliceBuckets,
  sliceRollup,
} from '../../src/plan/buckets.ts';

const days = (from: string, to: string): readonly Bucket[] => buildBuckets({ from, to }, 'day');

describe('a range', () => {
  test('is one bucket without a granularity', () => {
    expect(buildBuckets({ from: '2026-11-12', to: '2026-11-24' }, undefined)).toEqual([
      { label: '2026-11-12', from: '2026-11-12', to: '2026-11-24' },
    ]);
  });

  test('has months labelled by their first day; the first and last month are cut to the range', () => {
    expect(buildBuckets({ from: '2025-12-31', to: '2026-02-01' }, 'month')).toEqual([
      { label: '2025-12-01', from: '2025-12-31', to: '2025-12-31' },
      { label: '2026-01-01', from: '2026-01-01', to: '2026-01-31' },
      { label: '2026-02-01', from: '2026-02-01', to: '2026-02-01' },
    ]);
  });
});

describe('the previous period', () => {
  test.each([
    ['one month', '2026-03-01', '2026-03-31', '2026-02-01', '2026-02-28'],
    ['a year', '2025-01-01', '2025-12-31', '2024-01-01', '2024-12-31'],
    ['a range from the first of a month to the middle of one', '2026-03-01', '2026-03-30', '2026-01-30', '2026-02-28'],
    ['a range from the middle of a month to the end of one', '2026-03-02', '2026-03-31', '2026-01-31', '2026-03-01'],
    ['one day', '2026-03-01', '2026-03-01', '2026-02-28', '2026-02-28'],
  ])('of %s', (_what, from, to, first, last) => {
    expect(previousPeriod({ from, to })).toEqual({ from: first, to: last });
  });
});

describe('slices', () => {
  const week = days('2026-11-09', '2026-11-15');

  test('have as many buckets as the limits of days and buckets allow', () => {
    expect(sliceBuckets(week, 3, 99)).toEqual([
      { from: '2026-11-09', to: '2026-11-11', first: 0, buckets: 3 },
      { from: '2026-11-12', to: '2026-11-14', first: 3, buckets: 3 },
      { from: '2026-11-15', to: '2026-11-15', first: 6, buckets: 1 },
    ]);
    expect(sliceBuckets(week, 99, 4)).toEqual([
      { from: '2026-11-09', to: '2026-11-12', first: 0, buckets: 4 },
      { from: '2026-11-13', to: '2026-11-15', first: 4, buckets: 3 },
    ]);
    expect(sliceBuckets(week, 7, 7)?.length).toBe(1);
    expect(sliceBuckets(week, 1, 1)?.length).toBe(7);
    expect(sliceBuckets([], 1, 1)).toEqual([]);
  });

  test('do not exist if a bucket exceeds the limit of days', () => {
    const months = buildBuckets({ from: '2026-02-01', to: '2026-03-31' }, 'month');
    expect(sliceBuckets(months, 31, 99)?.length).toBe(2);
    expect(sliceBuckets(months, 30, 99)).toBe(undefined);
  });
});

test('a range without buckets is sliced between days, and all slices belong to its only row', () => {
  expect(sliceRollup({ from: '2026-02-26', to: '2026-03-07' }, 4)).toEqual([
    { from: '2026-02-26', to: '2026-03-01', first: 0, buckets: 1 },
    { from: '2026-03-02', to: '2026-03-05', first: 0, buckets: 1 },
    { from: '2026-03-06', to: '2026-03-07', first: 0, buckets: 1 },
  ]);
  expect(sliceRollup({ from: '2026-02-26', to: '2026-02-26' }, 1)).toEqual([
    { from: '2026-02-26', to: '2026-02-26', first: 0, buckets: 1 },
  ]);
});

test('two ranges are the same days if both ends agree or both ranges are absent', () => {
  const range = { from: '2026-11-09', to: '2026-11-15' };
  expect(sameDays(range, { ...range })).toBe(true);
  expect(sameDays(range, { ...range, from: '2026-11-10' })).toBe(false);
  expect(sameDays(range, { ...range, to: '2026-11-14' })).toBe(false);
  for (const absent of [null, undefined]) {
    expect(sameDays(range, absent)).toBe(false);
    expect(sameDays(absent, range)).toBe(false);
    expect(sameDays(null, absent)).toBe(true);
  }
});

test('the number of days includes both ends, and a day ends at midnight of its time zone', () => {
  expect(dayCount({ from: '2026-11-15', to: '2026-11-15' })).toBe(1);
  expect(dayCount({ from: '2026-03-01', to: '2026-03-31' })).toBe(31);
  expect(new Date(endOfDay('2026-11-15')).toISOString()).toBe('2026-11-16T00:00:00.000Z');
  expect(new Date(endOfDay('2026-03-29', 'Europe/Zurich')).toISOString()).toBe('2026-03-29T22:00:00.000Z');
});
