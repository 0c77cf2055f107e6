import { expect, test } from 'vitest';
import type { ChartKind } from '../../../src/definitions/schema/chart.ts';
import type { Column } from '../../../src/fetch/dataset.ts';
import { buildChart } from '../../../src/render/charts/chart.ts';
import { table } from '../../support/dataset.ts';

const GROUPS = Array.from({ length: 12 }, (_, index) => String.fromCharCode(97 + index));
const CREATED: Column = {
  name: 'created',
  label: 'Created',
  kind: 'metric',
  type: 'integer',
  unit: 'count',
  aggregation: 'count',
  counts: 'created',
};

/** Twelve groups in the order of the catalog, each larger than the one before: 10, 20, … 120 in the last month. */
const byGroup = (kind: ChartKind, metric: Column = CREATED, size = 10) =>
  table({
    id: 'groups',
    granularity: 'month',
    range: { from: '2026-09-01', to: '2026-10-31' },
    chart: kind,
    columns: [
      { name: 'bucket', label: 'Month', kind: 'time', type: 'date', unit: null },
      {
        name: 'group',
        label: 'Group',
        kind: 'dimension',
        type: 'enum',
        unit: null,
        values: GROUPS.map((value) => ({ value, label: value })),
      },
      metric,
    ],
    rows: ['2026-09-01', '2026-10-01'].flatMap((bucket, month) =>
      GROUPS.map((group, index) => ({
        values: { bucket, group, [metric.name]: (index + 1) * size * (month + 1) },
        partial: false,
      })),
    ),
  });
const seriesOf = (of: ReturnType<typeof byGroup>) => buildChart(of, 'en-GB')?.axes[0]?.series ?? [];
const sums = (of: ReturnType<typeof byGroup>) =>
  [0, 1].map((at) => seriesOf(of).reduce((sum, { values }) => sum + (values[at] ?? 0), 0));

test('a stacked chart adds up the smaller groups, so that its tops are the totals', () => {
  const chart = byGroup('stacked_column');
  expect(seriesOf(chart).map(({ name }) => name)).toEqual(['l', 'k', 'j', 'i', 'h', 'g', 'f', 'Other (5)']);
  expect(sums(chart)).toEqual([780, 1560]);
  expect(buildChart(chart)?.omitted).toEqual([]);
});

test('a group whose label equals “Other (5)” keeps a series of its own', () => {
  const chart = byGroup('stacked_column');
  const columns = chart.columns.map((column) =>
    column.name === 'group'
      ? { ...column, values: GROUPS.map((value) => ({ value, label: value === 'l' ? 'Other (5)' : value })) }
      : column,
  );
  expect(new Set(seriesOf({ ...chart, columns }).map(({ name }) => name)).size).toBe(8);
});

test('a stacked chart adds up the smaller groups of current counts as well', () => {
  expect(sums(byGroup('stacked_column', { ...CREATED, counts: 'now' }))).toEqual([780, 1560]);
});

test.each<[string, Column, number]>([
  ['distinct counts', { ...CREATED, addable: false }, 10],
  ['distinct counts by their aggregation', { ...CREATED, aggregation: 'count_distinct' }, 10],
  ['rates', { ...CREATED, unit: 'ratio', aggregation: 'share' }, 0.01],
])('%s of the largest groups stand side by side instead of stacked', (_, metric, size) => {
  const of = byGroup('stacked_column', metric, size);
  expect(buildChart(of)?.kind).toBe('column');
  expect(seriesOf(of).map(({ name }) => name)).toEqual(['l', 'k', 'j', 'i', 'h', 'g', 'f', 'e']);
  expect(buildChart(of)?.omitted).toHaveLength(1);
});

test.each(['line', 'column', 'bar'] as const)(
  'a %s chart of more than eight groups adds up the smaller ones',
  (kind) => {
    expect(seriesOf(byGroup(kind)).map(({ name }) => name)).toEqual(['l', 'k', 'j', 'i', 'h', 'g', 'f', 'Other (5)']);
    expect(sums(byGroup(kind))).toEqual([780, 1560]);
  },
);

test.each(['line', 'column'] as const)('a %s chart of rates shows only the largest groups, and says so', (kind) => {
  const of = byGroup(kind, { ...CREATED, unit: 'ratio', aggregation: 'share' }, 0.01);
  expect(seriesOf(of).map(({ name }) => name)).toEqual(['l', 'k', 'j', 'i', 'h', 'g', 'f', 'e']);
  expect(buildChart(of)?.omitted).toHaveLength(1);
});

test('a chart with two axes draws eight series in all, and names the metrics that it leaves out', () => {
  const { columns, rows, ...rest } = byGroup('line');
  const counts = Array.from(
    { length: 7 },
    (_, index): Column => ({ ...CREATED, name: `c${index}`, label: `C${index}` }),
  );
  const rates = [0, 1, 2].map(
    (index): Column => ({ ...CREATED, name: `r${index}`, label: `R${index}`, unit: 'ratio' }),
  );
  const all = [...counts, ...rates];
  const values = Object.fromEntries(all.map(({ name }) => [name, 0.5]));
  const chart = buildChart(
    table({
      ...rest,
      columns: [...columns.slice(0, 1), ...all],
      rows: [{ values: { bucket: '2026-09-01', ...values }, partial: false }],
    }),
    'en-GB',
  );
  expect(chart?.axes.map(({ series }) => series.length)).toEqual([7, 1]);
  expect(chart?.omitted.join()).toContain('R1');
});

test('a bar chart shows the largest groups when not all fit, or the first ones of an ordered section', () => {
  const { columns, rows, ...rest } = byGroup('bar');
  const bars = table({
    ...rest,
    granularity: null,
    columns: columns.slice(1),
    rows: 'path' in rows ? [] : rows.slice(0, 12),
  });
  expect(buildChart(bars, 'en-GB', 5)?.categories).toEqual(['h', 'i', 'j', 'k', 'l']);
  expect(buildChart({ ...bars, ordered: true }, 'en-GB', 5)?.categories).toEqual(['a', 'b', 'c', 'd', 'e']);
});
