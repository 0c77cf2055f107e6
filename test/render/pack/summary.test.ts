import { describe, expect, it } from 'vitest';
import type { Dataset, Table } from '../../../src/fetch/dataset.ts';
import { buildPack } from '../../../src/render/pack/build-pack.ts';
import { countColumn, dataset, nastyDataset, ratioColumn, row, workload } from '../../support/dataset.ts';
import { kpis, metrics, monthTable, october, SEPTEMBER } from './fixtures.ts';

const summaryRows = (of: Dataset) =>
  (buildPack(of).summary?.scorecard.groups ?? [])
    .flatMap(({ rows }) => rows)
    .map(({ section, column, figure }) => [section, column.name, figure.value]);
const single = (id: string, values: Record<string, number>, change: Partial<Table> = {}): Table =>
  monthTable({
    id,
    columns: Object.keys(values).map((name) => ({ ...countColumn, name, label: name })),
    rows: [row(values)],
    ...change,
  });

describe('the summary', () => {
  it('is the first printed scorecard section, which stays among the sections', () => {
    const pack = buildPack(
      october([single('plain', { a: 1 }), kpis({ id: 'hidden', print: false }), kpis(), kpis({ id: 'second' })]),
    );
    expect(pack.summary?.of).toBe('kpis');
    expect(pack.sections.map(({ table, kind }) => [table.id, kind])).toEqual([
      ['plain', 'table'],
      ['hidden', 'scorecard'],
      ['kpis', 'scorecard'],
      ['second', 'scorecard'],
    ]);
  });

  it('shows the first eight unfiltered metrics of printed sections with totals when there is no scorecard', () => {
    const columns = metrics(6);
    const values = (from: number) => Object.fromEntries(columns.map(({ name }, index) => [name, from + index]));
    const of = october([
      single('filtered', { x: 1 }, { filters: [{ label: 'Risk', is: ['High'] }] }),
      single('hidden', { y: 1 }, { print: false }),
      monthTable({ id: 'no_totals', granularity: 'day', columns, rows: [] }),
      single('first', values(10)),
      single('second', { b: 1, c: 2, d: 3 }),
    ]);
    expect(summaryRows(of)).toEqual([
      ...columns.map(({ name }, index) => ['first', name, 10 + index]),
      ['second', 'b', 1],
      ['second', 'c', 2],
    ]);
  });

  it('shows each metric once, for the whole period if there is such a figure', () => {
    const of = october([
      single('before', { a: 1 }, { range: SEPTEMBER }),
      single('whole', { a: 2 }),
      single('again', { a: 2 }),
    ]);
    expect(summaryRows(of)).toEqual([['whole', 'a', 2]]);
  });

  it('shows the metrics of `headline`, in their order, including those of filtered and hidden sections', () => {
    const of = october(
      [
        single('one', { a: 1, b: 2 }),
        single('two', { c: 3 }, { filters: [{ label: 'Risk', is: ['High'] }] }),
        single('three', { d: 4 }, { print: false }),
      ],
      { headlineMetrics: ['d', 'missing', 'c', 'a'] },
    );
    expect(summaryRows(of)).toEqual([
      ['three', 'd', 4],
      ['two', 'c', 3],
      ['one', 'a', 1],
    ]);
  });

  it('takes a figure of several sections from the one with the most comparisons', () => {
    const values = { [ratioColumn.name]: 0.8997 };
    const plain = monthTable({ id: 'plain', columns: [ratioColumn], rows: [row(values)] });
    const compared = kpis({ layout: { kind: 'table' }, columns: [ratioColumn] });
    expect(summaryRows(october([plain, compared]))).toEqual([['kpis', ratioColumn.name, 0.8997]]);
  });

  it('is absent without figures, or when the counts are undefined', () => {
    const lacking: Table = {
      ...workload,
      rows: [],
      notes: [
        {
          code: 'computed_in_future',
          message: {
            id: 'counts_undefined',
            of: { why: 'backfill', due: '2026-11-16T07:00:00Z', timezone: 'Europe/Zurich' },
          },
          incomplete: false,
        },
      ],
    };
    expect(buildPack(dataset([lacking])).summary).toBeUndefined();
    expect(buildPack(dataset([])).summary).toBeUndefined();
  });

  it('belongs to no section when no section has a layout', () => {
    const pack = buildPack(nastyDataset());
    expect(pack.summary).not.toHaveProperty('of');
    expect(new Set(pack.sections.map(({ kind }) => kind))).toEqual(new Set(['table']));
    expect(pack.sections.map(({ table }) => table.id)).toEqual(nastyDataset().tables.map(({ id }) => id));
  });
});
