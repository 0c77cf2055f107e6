import { describe, expect, it } from 'vitest';
import type { Table } from '../../../src/fetch/dataset.ts';
import { MAX_FIGURE_COLUMNS } from '../../../src/render/pack/blocks.ts';
import { buildPack } from '../../../src/render/pack/build-pack.ts';
import type { SectionOf } from '../../../src/render/pack/pack.ts';
import { bucketColumn, countColumn, groupColumn, ratioColumn, row, table, typeColumn } from '../../support/dataset.ts';
import { judged, kpis, metrics, monthTable, october, SEPTEMBER, sectionOf, target } from './fixtures.ts';

const tableOf = (of: Table): SectionOf<'table'> => sectionOf(buildPack(october([of])).sections, 'table');
const keysOf = ({ blocks }: SectionOf<'table'>) =>
  blocks.map(({ keys }) => keys.map(({ source, role }) => `${source.name} ${role}`));
const sizes = ({ blocks }: SectionOf<'table'>) =>
  blocks.map(({ groups }) => groups.map(({ columns }) => columns.length));

const byGroup = (count: number, change: Partial<Table> = {}, rows = 8): Table => {
  const columns = metrics(count);
  return monthTable({
    id: 'by_group',
    columns: [groupColumn, ...columns],
    rows: Array.from({ length: rows }, (_, index) =>
      row({
        [groupColumn.name]: `g${index}`,
        ...Object.fromEntries(columns.map(({ name }, at) => [name, at + index])),
      }),
    ),
    ...change,
  });
};
const COMPARED = {
  comparisons: [{ kind: 'previous_period', range: SEPTEMBER }],
} as const satisfies Partial<Table>;

describe('column blocks', () => {
  it('are a single block for at most nine figures', () => {
    expect(sizes(tableOf(byGroup(9)))).toEqual([[1, 1, 1, 1, 1, 1, 1, 1, 1]]);
  });

  it('are several blocks for more figures, with the keys repeated and every column once', () => {
    const section = tableOf(byGroup(20));
    expect(sizes(section).map((groups) => groups.length)).toEqual([7, 7, 6]);
    expect(keysOf(section)).toEqual(Array.from({ length: 3 }, () => [`${groupColumn.name} label`]));
    const shown = section.blocks.flatMap(({ groups }) => groups.flatMap(({ columns }) => columns));
    expect([...(section.blocks[0]?.keys ?? []), ...shown]).toEqual(section.columns);
  });

  it('keep the figures of one metric together', () => {
    const section = tableOf(byGroup(4, { ...COMPARED, toDate: { unit: 'year', range: SEPTEMBER } }));
    expect(sizes(section)).toEqual([
      [4, 4],
      [4, 4],
    ]);
    for (const { groups } of section.blocks) {
      for (const { columns } of groups) expect(new Set(columns.map(({ source }) => source.name)).size).toBe(1);
      expect(groups.flatMap(({ columns }) => columns).length).toBeLessThanOrEqual(MAX_FIGURE_COLUMNS);
    }
  });

  it('are of about the same size', () => {
    expect(sizes(tableOf(byGroup(4, COMPARED)))).toEqual([
      [3, 3],
      [3, 3],
    ]);
    expect(sizes(tableOf(byGroup(10))).map((groups) => groups.length)).toEqual([5, 5]);
  });

  it('have headings of two levels when figures are compared', () => {
    const [block] = tableOf(byGroup(1, COMPARED)).blocks;
    expect(block?.groups).toMatchObject([{ title: 'Metric 0', headings: ['Oct 2026', 'Sept 2026', 'Change'] }]);
    expect(block?.groups).toMatchObject([{ names: ['Metric 0', 'Metric 0, Sept 2026', 'Metric 0, change'] }]);
    const rate = table({
      id: 'rate',
      granularity: 'day',
      ...COMPARED,
      columns: [bucketColumn, ratioColumn],
      rows: [],
    });
    // A column of days must not be named after October.
    expect(tableOf(rate).blocks[0]?.groups).toMatchObject([
      {
        title: 'Approval rate (%)',
        headings: ['Value', 'Previous period', 'Change'],
        names: ['Approval rate (%)', 'Approval rate (%), previous period', expect.stringContaining('change')],
      },
    ]);
    expect(tableOf(byGroup(1)).blocks[0]?.groups).toMatchObject([{ title: null, headings: ['Metric 0'] }]);
  });

  it('have time and groups as keys, and no separate key for the number of a week', () => {
    const weekly = table({
      id: 'weekly',
      granularity: 'week',
      columns: [bucketColumn, groupColumn, typeColumn, countColumn],
      rows: [],
    });
    expect(keysOf(tableOf(weekly))).toEqual([
      ['bucket bucket', `${groupColumn.name} label`, `${typeColumn.name} label`],
    ]);
  });

  it('of a list repeat its first field', () => {
    const fields = Array.from({ length: 16 }, (_, index) => ({
      name: `field${index}`,
      label: `field${index}`,
      kind: 'field' as const,
      type: 'string',
      unit: null,
    }));
    const section = tableOf(table({ id: 'list', range: null, columns: fields, rows: [] }));
    expect(keysOf(section)).toEqual([['field0 label'], ['field0 label']]);
    expect(sizes(section).map((groups) => groups.length)).toEqual([8, 7]);
  });

  it('are absent without columns, and keep all figures of a compared metric', () => {
    expect(tableOf(table({ id: 'none', columns: [], rows: [] })).blocks).toEqual([]);
    const [block] = tableOf(byGroup(1, COMPARED, 40)).blocks;
    expect(block?.groups[0]?.columns).toHaveLength(3);
  });
});

describe('a transposed table', () => {
  it('is transposed on pages only with at most six rows and more than nine figures', () => {
    expect(tableOf(byGroup(10, {}, 6))).toMatchObject({ transposed: false, transposedOnPages: true });
    expect(tableOf(byGroup(10, {}, 7))).toMatchObject({ transposed: false, transposedOnPages: false });
    expect(tableOf(byGroup(9, {}, 6))).toMatchObject({ transposed: false, transposedOnPages: false });
    expect(tableOf(byGroup(10, {}, 0))).toMatchObject({ transposed: false, transposedOnPages: false });
  });

  it('of a single row is a scorecard as well, unless its totals differ from the row', () => {
    const { layout: _, ...plain } = kpis();
    const section = tableOf(plain);
    expect(section).toMatchObject({ transposed: true, transposedOnPages: false });
    const rows = section.scorecard?.groups.flatMap((group) => group.rows) ?? [];
    expect(rows.map(({ figure }) => figure.value)).toEqual([1204, 0.8997, 90_000]);
    const differs = tableOf({ ...plain, totals: { values: { [countColumn.name]: 1 } } });
    expect(differs).toMatchObject({ transposed: true });
    expect(differs).not.toHaveProperty('scorecard');
  });
});

describe('cells', () => {
  it('have value, text, tone and status', () => {
    const of = judged(
      october([
        monthTable({
          id: 'risk',
          ...COMPARED,
          columns: [groupColumn, ratioColumn],
          rows: [
            row(
              { [groupColumn.name]: 'high', [ratioColumn.name]: 0.8997 },
              { compare: { previous_period: { values: { [ratioColumn.name]: 0.95 } } } },
            ),
          ],
          totals: { values: { [ratioColumn.name]: 0.91 }, compare: {} },
        }),
      ]),
      [
        target({ metric: ratioColumn.name, target: '90%', where: { [groupColumn.name]: 'high' } }),
        target({ metric: ratioColumn.name, target: '95%' }),
      ],
    );
    const { cells, columns } = sectionOf(buildPack(of).sections, 'table');
    const [group, value, before, change] = columns;
    const [first] = of.tables[0]!.rows as readonly ReturnType<typeof row>[];
    expect(cells.ofRow(group!, first!)).toEqual({ value: 'high', text: 'high', tone: '' });
    expect(cells.ofRow(value!, first!)).toMatchObject({
      value: 0.8997,
      text: '89.97%',
      status: { status: 'breached' },
    });
    expect(cells.ofRow(before!, first!)).toEqual({ value: 0.95, text: '95.00%', tone: '' });
    expect(cells.ofRow(change!, first!)).toMatchObject({ text: '-5.03 pp', tone: 'worse' });
    expect(cells.ofTotals(group!)).toBeUndefined();
    expect(cells.ofTotals(value!)).toMatchObject({ value: 0.91, status: { status: 'breached' } });
    expect(cells.ofTotals(change!)).toMatchObject({ value: null, text: '–', tone: '' });
    expect([...cells.judged]).toEqual([ratioColumn.name]);
  });
});
