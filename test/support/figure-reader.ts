import type { Column, Dataset, Row, Table } from '../../src/fetch/dataset.ts';
import type { ReadCell, ReadTable } from './pack-tables.ts';
import { rowsOf } from './rows.ts';

// Checks whether tables that other programs have read show a dataset's figures. It knows locales, but not Docket's formats.

/** Removes isolates of bidirectional texts, and spaces, which differ with line breaks. */
export const squeezed = (text: string): string =>
  text
    .replaceAll(/[\u2066-\u2069\u200b\u00ad]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** Raw units per displayed unit. The header or the text names the unit; a figure fits one of them. */
const FACTORS: Readonly<Record<string, readonly number[]>> = {
  count: [1],
  ratio: [0.01],
  seconds: [60, 3_600, 86_400, 1],
};

interface ShownNumber {
  readonly value: number;
  /** The largest distance to the number that it was rounded from. */
  readonly off: number;
  /** True for `<0.1`, where the figure is less. */
  readonly bound: boolean;
}

/** The numbers in a text of a locale, in order. */
export function numbersIn(text: string, locale: string): ShownNumber[] {
  const parts = new Intl.NumberFormat(locale).formatToParts(-12_345.6);
  const [group = ',', decimal = '.'] = ['group', 'decimal'].map(
    (type) => parts.find((one) => one.type === type)?.value,
  );
  const plain = squeezed(text).replaceAll('−', '-').replaceAll(group, '').replaceAll(decimal, '.');
  return [...plain.matchAll(/([<>])?([+-]?\d+(?:\.(\d+))?)/g)].map(([, bound, digits = '', decimals = '']) => ({
    value: Number(digits),
    off: 0.500_01 * 10 ** -decimals.length,
    bound: bound !== undefined,
  }));
}

/**
 * Whether a cell shows this figure in this unit.
 * @param rounded the number of rounded figures behind the text: 2 for the difference of two
 */
export function showsFigure(
  cell: ReadCell,
  figure: number | null,
  unit: string | null,
  locale: string,
  rounded: 1 | 2 = 1,
): boolean {
  if (typeof cell === 'number') {
    if (figure === null) return false;
    // A cell of a workbook has the raw ratio.
    const factors = unit === 'ratio' ? [1] : (FACTORS[unit ?? 'count'] ?? [1]);
    return factors.some((factor) => Math.abs(cell * factor - figure) <= 1e-6 * Math.max(1, Math.abs(figure)));
  }
  if (figure === null) return squeezed(cell).endsWith('–');
  const factors = FACTORS[unit ?? 'count'] ?? [1];
  return numbersIn(cell, locale).some(({ value, off, bound }) =>
    factors.some((factor) =>
      bound
        ? Math.abs(figure) < Math.abs(value * factor)
        : Math.abs(value * factor - figure) <= rounded * off * factor + 1e-9,
    ),
  );
}

/** A figure and its unit. */
type Expected = readonly [figure: number | null, unit: string | null];

const metricsOf = ({ columns }: Table): Column[] => columns.filter(({ kind }) => kind === 'metric');

/** The figures of one metric in a row or the totals: its value, the compared values and the value to date. */
const figuresOf = (
  { comparisons, toDate: hasToDate }: Table,
  { name, unit }: Column,
  { values, compare, toDate }: Pick<Row, 'values' | 'compare' | 'toDate'>,
): Expected[] => {
  const figure = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  return [
    [figure(values[name]), unit],
    ...comparisons.map(({ kind }): Expected => [figure(compare?.[kind]?.values[name]), unit]),
    ...(hasToDate === undefined ? [] : [[figure(toDate?.[name]), unit] as const]),
  ];
};

/** Whether the cells show these figures in this order, possibly with others between them. */
function showInOrder(cells: readonly ReadCell[], expected: readonly Expected[], locale: string): boolean {
  let at = 0;
  for (const [figure, unit] of expected) {
    while (at < cells.length && !showsFigure(cells[at] ?? '', figure, unit, locale)) at += 1;
    if (at >= cells.length) return false;
    at += 1;
  }
  return true;
}

const DAY_MS = 86_400_000;
/** The epoch of Excel's dates, 1900-01-00, in days before 1970. */
const SERIAL_EPOCH = 25_569;

/** The texts that can show the date of a bucket. */
function bucketTexts(day: string, granularity: Table['granularity'], locale: string): string[] {
  const date = new Date(day);
  const format = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { timeZone: 'UTC', ...options }).format(date);
  if (granularity === 'month') return [format({ month: 'short', year: 'numeric' }), format({ month: 'short' })];
  return [format({ day: 'numeric', month: 'short' })];
}

/** Whether a cell shows this key of a row. */
function isKey(cell: ReadCell, key: unknown, column: Column, { granularity }: Table, locale: string): boolean {
  if (column.kind === 'time') {
    const day = String(key);
    if (typeof cell === 'number') return cell === Date.parse(day) / DAY_MS + SERIAL_EPOCH;
    return bucketTexts(day, granularity, locale).some((text) => squeezed(cell).includes(squeezed(text)));
  }
  const label = column.values?.find(({ value }) => value === key)?.label ?? key;
  return typeof cell === 'string' && squeezed(cell) === squeezed(label === null ? '–' : String(label));
}

/** The cells after the keys, from each row whose first cells include all keys. */
function cellsOfRow(tables: readonly ReadTable[], isHead: ((cell: ReadCell) => boolean)[]): ReadCell[] {
  return tables.flatMap(({ rows }) =>
    rows.flatMap((row) => {
      let at = 0;
      for (const matches of isHead) {
        const found = row.findIndex((cell, index) => index >= at && index <= isHead.length && matches(cell));
        if (found < 0) return [];
        at = found + 1;
      }
      return row.slice(at);
    }),
  );
}

const underTitle = (tables: readonly ReadTable[], title: string): readonly ReadTable[] => {
  const own = tables.filter(({ headings }) => headings.some((heading) => squeezed(heading) === squeezed(title)));
  return own.length === 0 ? tables : own;
};

/** The metrics of a row that a table does not show, each with the expected figures. */
export interface Missing {
  readonly section: string;
  readonly row: string;
  readonly expected: readonly (number | null)[];
  readonly found: readonly ReadCell[];
}

/** `, Sept 2026` after a label, with or without its unit. */
const MONTH_AFTER_LABEL = /^(?: \([^)]*\))?, [^,\d]+ \d{4}$/;

/**
 * The figures of a section that none of these tables shows. Rows are found by their keys; rows of scorecards and transposed
 * sections by the label of the metric.
 * @param rows the rows that the program has to show; all by default
 */
export function missingFigures(
  section: Table,
  all: readonly ReadTable[],
  locale: string,
  rows: readonly Row[] = rowsOf(section),
): Missing[] {
  const tables = underTitle(all, section.title);
  const keys = section.columns.filter(({ kind }) => kind !== 'metric');
  const metrics = metricsOf(section);
  const byRow = rows.flatMap((row): Missing[] => {
    const heads = keys.map(
      (column) => (cell: ReadCell) => isKey(cell, row.values[column.name], column, section, locale),
    );
    const found = keys.length === 0 ? [] : cellsOfRow(tables, heads);
    const expected = metrics.flatMap((metric) => figuresOf(section, metric, row));
    if (keys.length > 0 && showInOrder(found, expected, locale)) return [];
    const name = keys.map((column) => String(row.values[column.name])).join(' ');
    return [{ section: section.id, row: name, expected: expected.map(([figure]) => figure), found }];
  });
  if (byRow.length === 0) return [];
  const byMetric = metrics.flatMap((metric): Missing[] => {
    const label = squeezed(metric.label);
    const found = cellsOfRow(tables, [
      (cell) => {
        if (typeof cell !== 'string' || !squeezed(cell).startsWith(label)) return false;
        const rest = squeezed(cell).slice(label.length);
        // Another metric's label may start with this one and continue with a number. A month continues with a year.
        return !/\d/.test(rest) || MONTH_AFTER_LABEL.test(rest);
      },
    ]);
    const ofRows = rows.map((row) => figuresOf(section, metric, row));
    const expected = ofRows.flat();
    // Some tables show a metric in one row, others use a separate row for each comparison.
    const byKind = (ofRows[0] ?? []).flatMap((_, kind) => ofRows.flatMap((figures) => figures.slice(kind, kind + 1)));
    if (showInOrder(found, expected, locale) || showInOrder(found, byKind, locale)) return [];
    return [{ section: section.id, row: metric.name, expected: expected.map(([figure]) => figure), found }];
  });
  return byMetric.length < metrics.length ? byMetric : byRow;
}

/** The number of figures of a section in these rows. */
export const figureCount = (section: Table, rows: readonly Row[] = rowsOf(section)): number =>
  rows.length * metricsOf(section).length;

/** Sections with figures. */
export const sectionsWithFigures = ({ tables }: Dataset): Table[] =>
  tables.filter((each) => metricsOf(each).length > 0 && each.rows.length > 0);
