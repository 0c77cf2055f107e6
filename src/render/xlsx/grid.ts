import type { Row, Table, Value } from '../../fetch/dataset.ts';
import { firstRows, rowsIn } from '../../fetch/rows.ts';
import { type Words, wordsOf } from '../../words/words.ts';
import type { ViewColumn } from '../columns.ts';
import { civilDate, DAY_SECONDS, instant, type Quantity, UNDEFINED_TEXT, valueText } from '../format.ts';
import { type Rounding, rounder, usualDecimals } from '../rounding.ts';
import { isFigure, isTurned, totalsDiffer } from '../turned.ts';
import type { Mark } from './conditional.ts';
import { type CellStyle, createDataStyles, type DataStyle, STYLES } from './style.ts';
import type { Cell } from './writer.ts';

const MIN_WIDTH = 9;
const MAX_LABEL_WIDTH = 48;
const MAX_VALUE_WIDTH = 18;
/** Rows whose texts are measured for the widths: enough to be right, few enough to stay quick. */
const MEASURED_ROWS = 500;
/** Fewer rows are compared without help. */
const LEAST_BARS = 4;

/** The figures of a section as cells, ready to be put on a sheet. */
export interface Grid {
  /** Characters of each column. */
  readonly widths: readonly number[];
  /** How many columns at the left say what a row is. */
  readonly labels: number;
  readonly header: readonly Cell[];
  readonly rows: Iterable<readonly Cell[]>;
  readonly count: number;
  readonly totals?: readonly Cell[];
  /** Whether a total is shown, in a row or in a column. */
  readonly showsTotals: boolean;
  /** Whether filtering its rows makes sense. */
  readonly filter: boolean;
  /** What the figures of a column are marked by, one a column. */
  readonly marks: readonly (Mark['kind'] | undefined)[];
}

/** Excel's calendar begins in 1900 and has a 29 February there; earlier dates stay texts. */
const FIRST_DATE = Date.UTC(1900, 2, 1);

/** A raw value as Excel keeps it: durations are days, dates are dates, and what is undefined is a dash, not a number. */
export function excelValue(value: Value, quantity: Quantity): Cell['value'] {
  if (value === null) return UNDEFINED_TEXT;
  if (typeof value === 'number') {
    if (quantity.kind === 'text') return String(value);
    return quantity.kind === 'duration' && quantity.scale !== 'seconds' ? value / DAY_SECONDS : value;
  }
  const isDay = quantity.kind === 'bucket' || quantity.kind === 'day';
  const date = isDay ? civilDate(value) : quantity.kind === 'instant' ? instant(value) : undefined;
  return date === undefined || date.getTime() < FIRST_DATE ? value : date;
}

const isQuiet = (column: ViewColumn): boolean => column.role === 'previous' || column.role === 'change';

const headerStyle = (column: ViewColumn): CellStyle => {
  if (isQuiet(column)) return STYLES.headerQuiet;
  return isFigure(column) ? STYLES.headerValue : STYLES.headerLabel;
};

const DECIMALS: Readonly<Partial<Record<Quantity['kind'], number>>> = { ratio: 3, points: 5, relative: 6 };

/** Characters as Excel shows them, counted and not formatted: for a large table that would take longer than to write it. */
function shownLength(value: Value, quantity: Quantity): number {
  if (quantity.kind === 'bucket') return quantity.granularity === 'month' ? 8 : 15;
  if (quantity.kind === 'instant') return 19;
  if (quantity.kind === 'duration') return 10;
  if (typeof value !== 'number') return typeof value === 'string' ? value.length : UNDEFINED_TEXT.length;
  const shown = quantity.kind === 'ratio' || quantity.kind === 'relative' ? value * 100 : value;
  const digits = Math.trunc(Math.abs(shown)).toString().length;
  const decimals =
    'decimals' in quantity && quantity.decimals > 0 ? quantity.decimals + 1 : (DECIMALS[quantity.kind] ?? 0);
  return digits + Math.floor((digits - 1) / 3) + decimals + (quantity.kind === 'difference' ? 3 : 1);
}

const longestWord = (text: string): number => text.split(/\s+/).reduce((most, word) => Math.max(most, word.length), 0);

/** Wide enough for the longest value and the longest word of the header, within reason. */
function widthOf(column: ViewColumn, measured: readonly Row[], { table }: Words): number {
  const most = isFigure(column) ? MAX_VALUE_WIDTH : MAX_LABEL_WIDTH;
  const marked =
    column.role === 'bucket' && measured.some((row) => row.partial) ? ` · ${table.stillRunning}`.length : 0;
  const content = measured.reduce(
    (longest, row) => Math.max(longest, shownLength(column.read(row), column.quantity) + marked),
    column.total === undefined ? 0 : shownLength(column.total, column.quantity) + 2,
  );
  const more = Math.max(0, column.decimals - usualDecimals(column.quantity));
  const header = Math.max(longestWord(column.header) + 2, Math.min(column.header.length / 2 + 3, MAX_VALUE_WIDTH));
  return Math.min(Math.max(MIN_WIDTH, content + more + 2, header), most);
}

/** A heading of figures, or the first cell of the totals: says when they will grow. */
const withRunning = (text: string, running: boolean, { table }: Words): string =>
  running ? `${text} · ${table.stillRunning}` : text;

type StyleOf = ReturnType<typeof createDataStyles>;
type FigureStyle = Pick<DataStyle, 'partial' | 'total' | 'unitInCell'>;

/** Makes the cells of one column: styles are looked for once, because a large table has many cells of few styles. */
function cellMaker(column: ViewColumn, more: FigureStyle, styleOf: StyleOf): (value: Value) => Cell {
  const style = { quantity: column.quantity, quiet: isQuiet(column), ...more };
  const dash = { value: UNDEFINED_TEXT, style: styleOf(style, true) };
  const usual = styleOf(style, false);
  const roundingOf = rounder(column.quantity);
  const rounded = new Map<Rounding, CellStyle>();
  let last: { readonly rounding: Rounding; readonly style: CellStyle } | undefined;
  const styleFor = (rounding: Rounding): CellStyle => {
    if (last?.rounding === rounding) return last.style;
    const known = rounded.get(rounding) ?? styleOf({ ...style, rounding }, false);
    rounded.set(rounding, known);
    last = { rounding, style: known };
    return known;
  };
  return (value) => {
    if (value === null) return dash;
    const shown = typeof value === 'number' ? styleFor(roundingOf(value)) : usual;
    return { value: excelValue(value, column.quantity), style: shown };
  };
}

const figureCell = (value: Value, column: ViewColumn, more: FigureStyle, styleOf: StyleOf): Cell =>
  cellMaker(column, more, styleOf)(value);

function* tableRows(table: Table, columns: readonly ViewColumn[], styleOf: StyleOf): Iterable<readonly Cell[]> {
  const makers = (partial: boolean) =>
    columns.map((column) => {
      const cell = cellMaker(column, { partial, total: false, unitInCell: false }, styleOf);
      return (row: Row): Cell => cell(column.read(row));
    });
  const whole = makers(false);
  const running = makers(true);
  for (const row of rowsIn(table.rows)) yield (row.partial ? running : whole).map((cellOf) => cellOf(row));
}

/** Bars where figures of one kind stand below each other; a share has its own scale, and a bar of nothing none. */
function markOf(table: Table, column: ViewColumn): Mark['kind'] | undefined {
  if (column.role === 'change') return 'change';
  const measures = column.quantity.kind === 'count' || column.quantity.kind === 'duration';
  if (column.role !== 'value' || !measures || table.rows.length < LEAST_BARS) return undefined;
  return column.seen.positive ? 'bar' : undefined;
}

/** A row per bucket and group, a column per label and figure. */
function tableGrid(table: Table, columns: readonly ViewColumn[], locale: string): Grid {
  const words = wordsOf(locale);
  const styleOf = createDataStyles(words, locale);
  const measured = firstRows(table.rows, MEASURED_ROWS);
  const { running: partial } = table;
  const label = { quantity: { kind: 'text' }, quiet: false, partial, total: true, unitInCell: false } as const;
  const heading = withRunning(words.table.total, partial, words);
  const totals = columns.map((column, index): Cell => {
    if (column.total === undefined) return { value: index === 0 ? heading : '', style: styleOf(label, false) };
    return figureCell(column.total, column, { partial, total: true, unitInCell: false }, styleOf);
  });
  const headed = (index: number): number =>
    index === 0 && table.totals !== undefined && partial ? heading.length + 2 : 0;
  return {
    widths: columns.map((column, index) => Math.max(widthOf(column, measured, words), headed(index))),
    labels: columns.filter((column) => !isFigure(column)).length,
    header: columns.map((column) => ({ value: column.header, style: headerStyle(column) })),
    rows: { [Symbol.iterator]: () => tableRows(table, columns, styleOf)[Symbol.iterator]() },
    count: table.rows.length,
    ...(table.totals === undefined ? {} : { totals }),
    showsTotals: table.totals !== undefined,
    filter: table.rows.length > 0,
    marks: columns.map((column) => markOf(table, column)),
  };
}

/** What the one value of each metric is of: a bucket, or nothing but the section itself. */
function valueHeading(columns: readonly ViewColumn[], row: Row | undefined, locale: string): string {
  const bucket = columns.find((column) => column.role === 'bucket');
  const words = wordsOf(locale);
  const heading =
    bucket === undefined || row === undefined
      ? words.workbook.section.value
      : valueText(bucket.read(row), bucket.quantity, locale);
  return withRunning(heading, row?.partial ?? false, words);
}

/**
 * A section of one row without groups, turned: a row per metric. The total of such a section is its row; it has columns
 * of its own only where the service says otherwise.
 */
function figuresGrid(table: Table, all: readonly ViewColumn[], locale: string): Grid {
  const columns = all.filter(isFigure);
  const words = wordsOf(locale);
  const { section: own } = words.workbook;
  const styleOf = createDataStyles(words, locale);
  const [row] = firstRows(table.rows, 1);
  const read = (column: ViewColumn): Value => (row === undefined ? null : column.read(row));
  const differs = totalsDiffer(columns, row);
  const { compared } = table;
  const more = { partial: row?.partial ?? false, total: false, unitInCell: true };
  const rows = columns
    .filter((column) => column.role === 'value')
    .map((value): Cell[] => {
      const beside = columns.filter((column) => column.source === value.source && isQuiet(column));
      const figures = [value, ...beside];
      const shown = figures.map((column) => figureCell(read(column), column, more, styleOf));
      const asTotal = { ...more, partial: table.running, total: true };
      const totals = differs ? figures.map((column) => figureCell(column.total ?? null, column, asTotal, styleOf)) : [];
      const text = {
        quantity: { kind: 'text' },
        quiet: false,
        total: false,
        partial: more.partial,
        unitInCell: false,
      } as const;
      return [{ value: value.header, style: styleOf(text, false) }, ...shown, ...totals];
    });
  const beside = compared ? [own.previous, own.change] : [];
  const total = withRunning(words.table.total, table.running, words);
  const headings = [
    valueHeading(all, row, locale),
    ...beside,
    ...(differs ? [total, ...beside.map((heading) => `${total} · ${heading}`)] : []),
  ];
  const change = compared ? 'change' : undefined;
  const longest = columns.reduce((most, column) => Math.max(most, column.header.length), 0);
  return {
    widths: [Math.min(Math.max(longest + 2, 24), MAX_LABEL_WIDTH), ...headings.map(() => MAX_VALUE_WIDTH)],
    labels: 1,
    header: [
      { value: own.metric, style: STYLES.headerLabel },
      ...headings.map((value, index) => ({ value, style: index === 0 ? STYLES.headerValue : STYLES.headerQuiet })),
    ],
    rows,
    count: rows.length,
    showsTotals: differs,
    filter: false,
    marks: [undefined, undefined, undefined, change, undefined, undefined, differs ? change : undefined],
  };
}

/**
 * @param columns the table's
 * @param locale BCP 47, for headings and bounds; numbers and dates in cells follow the reader's Excel
 */
export function gridOf(table: Table, columns: readonly ViewColumn[], locale: string): Grid {
  return isTurned(table, columns) ? figuresGrid(table, columns, locale) : tableGrid(table, columns, locale);
}
