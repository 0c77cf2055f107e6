import { describe, expect, test } from 'vitest';
import type { Column, Table } from '../../../src/fetch/dataset.ts';
import { headlineFigures } from '../../../src/render/figures/headline-figures.ts';
import { buildHeadlines } from '../../../src/render/figures/headlines.ts';
import { totalRange, usualRange } from '../../../src/render/figures/usual-range.ts';
import { evaluateConditions } from '../../../src/run/delivery-conditions.ts';
import { bucketColumn, countColumn, ratioColumn, row } from '../../support/dataset.ts';
import { definitionOf } from '../../support/reports.ts';
import { monthTable, october } from '../pack/fixtures.ts';

const COUNT = countColumn.name;

/** By hand: m = 106, moving ranges 4 2 6 8 6 2 4 6 8 2 4 → R = 52/11, w = 2.66 R = 12.5745… */
const EARLIER = [104, 108, 106, 112, 104, 110, 108, 104, 110, 102, 104, 100];
const MEAN = 106;
const WIDTH = (2.66 * 52) / 11;

test('the range equals one that was computed by hand', () => {
  const range = usualRange({ earlier: EARLIER, value: 110, least: 1 });
  expect(range?.is).toBe('usual');
  expect(range?.low).toBeCloseTo(MEAN - WIDTH, 9);
  expect(range?.high).toBeCloseTo(MEAN + WIDTH, 9);
});

test.each([
  [118, 'usual'],
  // The step from 100 is larger than the width.
  [119, 'unusual'],
  [93, 'drifting'],
  // Outside of the range, and the step from 100 is larger than the width, 12.57.
  [87, 'unusual'],
])('a value of %s after the earlier points is %s', (value, is) => {
  expect(usualRange({ earlier: EARLIER, value, least: 1 })?.is).toBe(is);
});

test('a range needs twelve earlier points, and no moving range spans a gap', () => {
  expect(usualRange({ earlier: EARLIER.slice(1), value: 999, least: 1 })).toBeUndefined();
  expect(usualRange({ earlier: [null, ...EARLIER.slice(1)], value: 999, least: 1 })).toBeUndefined();
  const gap = [...EARLIER.slice(0, 6), null, ...EARLIER.slice(6)];
  // Without the moving range from 110 to 108.
  expect(usualRange({ earlier: gap, value: 106, least: 1 })?.high).toBeCloseTo(MEAN + (2.66 * 50) / 10, 9);
  const alternate = EARLIER.flatMap((point) => [point, null]);
  expect(usualRange({ earlier: alternate, value: 999, least: 1 })).toBeUndefined();
  // After a gap there is no step.
  expect(usualRange({ earlier: [...EARLIER, null], value: 999, least: 1 })?.is).toBe('drifting');
});

test('the range of a constant series has the least width, and every range stays within its bounds', () => {
  const constant = Array.from({ length: 12 }, () => 40);
  expect(usualRange({ earlier: constant, value: 41, least: 1 })).toEqual({ low: 39, high: 41, is: 'usual' });
  expect(usualRange({ earlier: constant, value: 42, least: 1 })?.is).toBe('unusual');
  const rates = [0.9, 1, 0.8, 1, 0.7, 1, 0.9, 1, 0.8, 1, 0.9, 1];
  expect(usualRange({ earlier: rates, value: 0.9, least: 0.001, most: 1 })?.high).toBe(1);
  expect(usualRange({ earlier: [0, 9, 0, 8, 0, 9, 0, 9, 1, 9, 0, 9], value: 4, least: 1 })?.low).toBe(0);
});

/** Another implementation: limits by sorting and summing in a loop. */
function isUnusual(points: readonly number[], least: number): boolean {
  const [value = 0, ...before] = [...points].reverse();
  const earlier = before.slice(0, 12).reverse();
  let sum = 0;
  let moves = 0;
  for (let at = 0; at < 12; at += 1) {
    sum += earlier[at] ?? 0;
    if (at > 0) moves += Math.abs((earlier[at] ?? 0) - (earlier[at - 1] ?? 0));
  }
  const half = Math.max((moves / 11) * 2.66, least);
  const up = value - Math.max(0, sum / 12 + half);
  const down = Math.max(0, sum / 12 - half) - value;
  const step = value - (earlier[11] ?? 0);
  return (up > 0 && step > half) || (down > 0 && -step > half);
}

/** A random generator that repeats its numbers for the same seed (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
/** Poisson by the normal approximation above 50, else by multiplication. */
function poisson(rate: number, next: () => number): number {
  if (rate > 50) {
    const normal = Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
    return Math.max(0, Math.round(rate + Math.sqrt(rate) * normal));
  }
  const limit = Math.exp(-rate);
  let count = -1;
  for (let product = 1; product > limit; product *= next()) count += 1;
  return count;
}

describe('in a simulation', () => {
  const RUNS = 2_000;
  /** The share of series whose last point is unusual. */
  const share = (rateAt: (month: number, start: number) => number): number => {
    const next = random(39);
    let unusual = 0;
    for (let run = 0; run < RUNS; run += 1) {
      const start = Math.floor(next() * 12);
      const points = Array.from({ length: 13 }, (_, month) => poisson(rateAt(month, start), next));
      const found = usualRange({ earlier: points.slice(0, 12), value: points[12] ?? 0, least: 1 })?.is === 'unusual';
      expect(found).toBe(isUnusual(points, 1));
      if (found) unusual += 1;
    }
    return unusual / RUNS;
  };
  test.each<[string, (month: number, start: number) => number]>([
    ['a growth of 2 % a month', (month) => 400 * 1.02 ** month],
    ['a season of ±20 %', (month, start) => 400 * (1 + 0.2 * Math.sin((2 * Math.PI * (month + start)) / 12))],
    ['a constant rate of 0.3 a month', () => 0.3],
    ['a constant rate of 3 a month', () => 3],
    ['a constant rate of 400 a month', () => 400],
  ])('%s is seldom unusual', (_, rateAt) => {
    expect(share(rateAt)).toBeLessThanOrEqual(0.07);
  });
  test('a month with 30 % more is unusual in most series', () => {
    expect(share((month) => (month === 12 ? 520 : 400))).toBeGreaterThanOrEqual(0.85);
  });
});

const MONTHS = Array.from({ length: 13 }, (_, index) =>
  new Date(Date.UTC(2025, 9 + index, 1)).toISOString().slice(0, 10),
);
const card = (value: number, column: Column = countColumn, change: Partial<Table> = {}): Table =>
  monthTable({
    id: 'kpis',
    layout: { kind: 'scorecard', groups: [] },
    columns: [column],
    rows: [row({ [column.name]: value })],
    trend: {
      granularity: 'month',
      buckets: MONTHS.map((label) => ({ label, partial: false })),
      values: { [column.name]: [...EARLIER, value] },
    },
    ...change,
  });
const rangeOf = (table: Table, rules: Parameters<typeof totalRange>[0] = { small: 10 }) => {
  const [column = countColumn] = table.columns;
  return totalRange(rules, table, column, 160, { kind: 'count' })?.is;
};

test('totals have a range only for exactly one complete bucket of a metric with a comparable past', () => {
  expect(rangeOf(card(160))).toBe('unusual');
  expect(rangeOf(card(160), {})).toBeUndefined();
  expect(rangeOf(card(160, countColumn, { range: { from: '2026-10-01', to: '2026-10-30' } }))).toBeUndefined();
  expect(rangeOf(card(160, countColumn, { range: { from: '2026-09-01', to: '2026-10-31' } }))).toBeUndefined();
  expect(rangeOf(card(160, countColumn, { running: true }))).toBeUndefined();
  expect(rangeOf(card(160, { ...countColumn, provisional: true }))).toBeUndefined();
  expect(rangeOf(card(160, { ...countColumn, replacedBy: 'x' }))).toBeUndefined();
  const replaced = {
    id: 'replaced',
    of: { from: { id: 'old', label: 'Old' }, to: { id: COUNT, label: 'x' } },
  } as const;
  const notes = [{ code: 'deprecated', message: replaced, incomplete: false }] as const;
  expect(rangeOf(card(160, countColumn, { notes }))).toBeUndefined();
  expect(rangeOf(card(160, { ...countColumn, availableFrom: '2025-10-15' }))).toBeUndefined();
  expect(rangeOf(card(160, { ...countColumn, availableFrom: '2025-10-01' }))).toBe('unusual');
});

test('an impossible figure has no range', () => {
  const wrong = [{ metric: COUNT, at: { bucket: null, group: [] } }];
  expect(rangeOf(card(160, countColumn, { wrong }))).toBeUndefined();
  const totals = { values: { [COUNT]: 160 } };
  expect(rangeOf(card(160, countColumn, { wrong: [{ metric: COUNT, at: 'totals' }], totals }))).toBeUndefined();
  expect(rangeOf(card(160, countColumn, { wrong, totals }))).toBe('unusual');
});

test('points with few or unknown cases are gaps when the metric has a base', () => {
  const bases = [{ metric: ratioColumn.name, base: COUNT }];
  const table = card(160, ratioColumn);
  const withCases = (cases: readonly number[]): Table => ({
    ...table,
    ...(table.trend === undefined ? {} : { trend: { ...table.trend, cases: { [ratioColumn.name]: cases } } }),
  });
  const all = Array.from({ length: 13 }, () => 50);
  expect(rangeOf(withCases(all), { small: 10, bases })).toBe('unusual');
  expect(rangeOf(withCases(all.with(4, 9)), { small: 10, bases })).toBeUndefined();
  expect(rangeOf(withCases(all.with(12, 9)), { small: 10, bases })).toBeUndefined();
  expect(rangeOf(table, { small: 10, bases })).toBeUndefined();
  expect(rangeOf(table)).toBe('unusual');
});

/** Whether `send_if: unusual` is met. */
const isSent = async (of: Table): Promise<boolean | undefined> => {
  const definition = definitionOf([{ id: 'kpis', metrics: [COUNT] }], {
    deliveries: [{ directory: { path: 'out' }, send_if: 'unusual' }],
  });
  return (await evaluateConditions(october([of], { small: 10 }), definition, undefined)).conditions[0]?.send;
};

test('an unusual figure is a headline with its range, and meets send_if: unusual', async () => {
  const said = (value: number) =>
    buildHeadlines(headlineFigures(october([card(value)], { small: 10 }), 'en'), undefined, 'en');
  expect(said(160)).toEqual([`${countColumn.label}: 160 (outside its usual range 94–118)`]);
  expect(said(110)).toEqual([]);
  expect(await Promise.all([card(160), card(110)].map(isSent))).toEqual([true, false]);
});

test('an unusual last figure of a trend section meets send_if: unusual', async () => {
  const year = (value: number, change: Partial<Table> = {}): Table =>
    monthTable({
      id: 'months',
      range: { from: '2025-10-01', to: '2026-10-31' },
      granularity: 'month',
      columns: [bucketColumn, countColumn],
      rows: MONTHS.map((bucket, at) => row({ bucket, [COUNT]: EARLIER[at] ?? value })),
      layout: { kind: 'trend' },
      ...change,
    });
  expect(await Promise.all([year(160), year(110)].map(isSent))).toEqual([true, false]);
  expect(await isSent(year(160, { layout: { kind: 'table' } }))).toBe(false);
  expect(await isSent(year(160, { range: { from: '2025-10-01', to: '2026-10-30' } }))).toBe(false);
  const wrongIn = (bucket = '') => [{ metric: COUNT, at: { bucket, group: [] } }];
  // The wrong figure does not count: eleven points are too few for a range.
  expect(await isSent(year(160, { wrong: wrongIn(MONTHS[4]) }))).toBe(false);
  expect(await isSent(year(110, { wrong: wrongIn(MONTHS[12]) }))).toBe(true);
});

test('an impossible figure with a trend meets send_if: unusual', async () => {
  const wrong = [{ metric: COUNT, at: { bucket: null, group: [] } }];
  expect(await isSent(card(110, countColumn, { wrong }))).toBe(true);
  const { trend: _, ...without } = card(110, countColumn, { wrong });
  expect(await isSent(without)).toBe(false);
});
