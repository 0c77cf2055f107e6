import type { Row, Table, Value } from '../../../fetch/dataset.ts';
import { firstRows, iterateRows } from '../../../fetch/rows.ts';
import { messagesFor, type Words } from '../../../i18n/messages.ts';
import { isFigureColumn, isTransposed, namedComparison, totalsDiffer, type ViewColumn } from '../../figures/columns.ts';
import { formatValue, UNDEFINED_TEXT } from '../../figures/format-value.ts';
import {
  createRounder,
  defaultDecimals,
  parseCivilDate,
  parseIsoInstant,
  type Quantity,
  type Rounding,
  rawPerShown,
} from '../../figures/quantity.ts';
import { totalHeading } from '../../table-notes.ts';
import type { ConditionalFormat } from './sheet-parts.ts';
import type { Cell } from './sheet-rows.ts';
import { type CellStyle, createDataStyles, type DataStyle, STYLES } from './style.ts';

const MIN_WIDTH = 9;
const MAX_LABEL_WIDTH = 48;
const MAX_VALUE_WIDTH = 18;
/** Column widths are measured on the first rows only, for speed. */
const MAX_MEASURED_ROWS = 500;
/** Data bars need at least this many rows. */
const MIN_BAR_ROWS = 4;

/** The figures of a section as cells. */
export interface Grid {
  /** Characters of each column. */
  readonly widths: readonly number[];
  /** Number of label columns on the left. */
  readonly labels: number;
  readonly header: readonly Cell[];
  readonly rows: Iterable<readonly Cell[]>;
  readonly count: number;
  readonly totals?: readonly Cell[];
  /** Whether totals are shown, in a row or in columns. */
  readonly showsTotals: boolean;
  /** Whether the header has filter buttons. */
  readonly filter: boolean;
  /** One per column. */
  readonly conditionalFormats: readonly (ConditionalFormat['kind'] | undefined)[];
  /** In place of `change`, one per row: where each row is another metric. */
  readonly rowChanges?: readonly ConditionalFormat['kind'][];
}

/** Excel dates start in 1900, which Excel treats as a leap year; earlier dates stay texts. */
const FIRST_DATE = Date.UTC(1900, 2, 1);

/** A raw value as its cell holds it: durations in the unit they are shown in, dates as `Date`; a dash for an undefined value. */
export function toCellValue(value: Value, quantity: Quantity): Cell['value'] {
  if (value === null) return UNDEFINED_TEXT;
  if (typeof value === 'number') {
    if (quantity.kind === 'text') return String(value);
    return value / rawPerShown(quantity);
  }
  const isDay = quantity.kind === 'bucket' || quantity.kind === 'day';
  const date = isDay ? parseCivilDate(value) : quantity.kind === 'instant' ? parseIsoInstant(value) : undefined;
  return date === undefined || date.getTime() < FIRST_DATE ? value : date;
}

const isSecondary = (column: ViewColumn): boolean => column.role === 'previous' || column.role === 'change';

const headerStyle = (column: ViewColumn): CellStyle => {
  if (isSecondary(column)) return STYLES.headerSecondary;
  return isFigureColumn(column) ? STYLES.headerValue : STYLES.headerLabel;
};

const EXTRA_CHARACTERS: Readonly<Partial<Record<Quantity['kind'], number>>> = {
  ratio: 3,
  points: 5,
  relative: 6,
  duration: 3,
};

/** Characters that Excel shows, estimated: formatting each value would take longer than writing it. */
function displayLength(value: Value, quantity: Quantity): number {
  if (quantity.kind === 'bucket') return quantity.granularity === 'month' ? 8 : 15;
  if (quantity.kind === 'instant') return 19;
  if (typeof value !== 'number') return typeof value === 'string' ? value.length : UNDEFINED_TEXT.length;
  const shown = quantity.kind === 'ratio' || quantity.kind === 'relative' ? value * 100 : value / rawPerShown(quantity);
  const digits = Math.trunc(Math.abs(shown)).toString().length;
  const decimals =
    'decimals' in quantity && quantity.decimals > 0 ? quantity.decimals + 1 : (EXTRA_CHARACTERS[quantity.kind] ?? 0);
  return digits + Math.floor((digits - 1) / 3) + decimals + (quantity.kind === 'difference' ? 3 : 1);
}

const longestWord = (text: string): number => text.split(/\s+/).reduce((most, word) => Math.max(most, word.length), 0);

/** Fits the longest value and the longest word of the header, between minimum and maximum. */
function widthOf(column: ViewColumn, measured: readonly Row[], { table }: Words): number {
  const maxWidth = isFigureColumn(column) ? MAX_VALUE_WIDTH : MAX_LABEL_WIDTH;
  const running =
    column.role === 'bucket' && measured.some((row) => row.partial) ? ` · ${table.stillRunning}`.length : 0;
  const content = measured.reduce(
    (longest, row) => Math.max(longest, displayLength(column.read(row), column.quantity) + running),
    column.total === undefined ? 0 : displayLength(column.total, column.quantity) + 2,
  );
  const extraDecimals = Math.max(0, column.decimals - defaultDecimals(column.quantity));
  const header = Math.max(longestWord(column.header) + 2, Math.min(column.header.length / 2 + 3, MAX_VALUE_WIDTH));
  return Math.min(Math.max(MIN_WIDTH, content + extraDecimals + 2, header), maxWidth);
}

/** A heading of figures or totals, marked when the period is still running. */
const withRunningNote = (text: string, running: boolean, { table }: Words): string =>
  running ? `${text} · ${table.stillRunning}` : text;

type StyleOf = ReturnType<typeof createDataStyles>;
type FigureStyle = Pick<DataStyle, 'partial' | 'total' | 'unitInCell'>;

/** Creates the cells of one column. It caches styles: a large table has many cells of few styles. */
function cellFactory(column: ViewColumn, options: FigureStyle, styleOf: StyleOf): (value: Value) => Cell {
  const style = { quantity: column.quantity, secondary: isSecondary(column), ...options };
  const dash = { value: UNDEFINED_TEXT, style: styleOf(style, true) };
  const usual = styleOf(style, false);
  const roundingOf = createRounder(column.quantity);
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
    return { value: toCellValue(value, column.quantity), style: shown };
  };
}

const figureCell = (value: Value, column: ViewColumn, more: FigureStyle, styleOf: StyleOf): Cell =>
  cellFactory(column, more, styleOf)(value);

function* tableRows(table: Table, columns: readonly ViewColumn[], styleOf: StyleOf): Iterable<readonly Cell[]> {
  const makers = (partial: boolean) =>
    columns.map((column) => {
      const cell = cellFactory(column, { partial, total: false, unitInCell: false }, styleOf);
      return (row: Row): Cell => cell(column.read(row));
    });
  const whole = makers(false);
  const running = makers(true);
  for (const row of iterateRows(table.rows)) yield (row.partial ? running : whole).map((cellOf) => cellOf(row));
}

/** Data bars for counts and durations with a positive value; shares have a scale of their own. */
function conditionalFormatKind(table: Table, column: ViewColumn): ConditionalFormat['kind'] | undefined {
  if (column.role === 'change') return 'change';
  const measures = column.quantity.kind === 'count' || column.quantity.kind === 'duration';
  if (column.role !== 'value' || !measures || table.rows.length < MIN_BAR_ROWS) return undefined;
  return column.contents.positive ? 'bar' : undefined;
}

/** One row per bucket and group, one column per label and figure. */
function tableGrid(table: Table, columns: readonly ViewColumn[], locale: string): Grid {
  const words = messagesFor(locale);
  const styleOf = createDataStyles(words, locale);
  const measured = firstRows(table.rows, MAX_MEASURED_ROWS);
  const { running: partial } = table;
  const label = { quantity: { kind: 'text' }, secondary: false, partial, total: true, unitInCell: false } as const;
  const heading = withRunningNote(totalHeading(table, words), partial, words);
  const totals = columns.map((column, index): Cell => {
    if (column.total === undefined) return { value: index === 0 ? heading : '', style: styleOf(label, false) };
    return figureCell(column.total, column, { partial, total: true, unitInCell: false }, styleOf);
  });
  const totalsHeadingWidth = (index: number): number =>
    index === 0 && table.totals !== undefined && partial ? heading.length + 2 : 0;
  return {
    widths: columns.map((column, index) => Math.max(widthOf(column, measured, words), totalsHeadingWidth(index))),
    labels: columns.filter((column) => !isFigureColumn(column)).length,
    header: columns.map((column) => ({ value: column.header, style: headerStyle(column) })),
    rows: { [Symbol.iterator]: () => tableRows(table, columns, styleOf)[Symbol.iterator]() },
    count: table.rows.length,
    ...(table.totals === undefined ? {} : { totals }),
    showsTotals: table.totals !== undefined,
    filter: table.rows.length > 0,
    conditionalFormats: columns.map((column) => conditionalFormatKind(table, column)),
  };
}

/** The heading of a transposed section's values: its bucket, or "Value". */
function valueHeading(columns: readonly ViewColumn[], row: Row | undefined, locale: string): string {
  const bucket = columns.find((column) => column.role === 'bucket');
  const words = messagesFor(locale);
  const heading =
    bucket === undefined || row === undefined
      ? words.workbook.section.value
      : formatValue(bucket.read(row), bucket.quantity, locale);
  return withRunningNote(heading, row?.partial ?? false, words);
}

/** A section of one row without groups, transposed: one row per metric. Totals get columns only where they differ. */
function transposedGrid(table: Table, all: readonly ViewColumn[], locale: string): Grid {
  const columns = all.filter(isFigureColumn);
  const words = messagesFor(locale);
  const { section: texts } = words.workbook;
  const styleOf = createDataStyles(words, locale);
  const [row] = firstRows(table.rows, 1);
  const read = (column: ViewColumn): Value => (row === undefined ? null : column.read(row));
  const differs = totalsDiffer(columns, row);
  const { comparisons, toDate } = table;
  const options = { partial: row?.partial ?? false, total: false, unitInCell: true };
  const rows = columns
    .filter((column) => column.role === 'value')
    .map((value): Cell[] => {
      const figures = columns.filter((column) => column.source === value.source);
      const cells = figures.map((column) => figureCell(read(column), column, options, styleOf));
      const asTotal = { ...options, partial: table.running, total: true };
      const totals = differs ? figures.map((column) => figureCell(column.total ?? null, column, asTotal, styleOf)) : [];
      const text = {
        quantity: { kind: 'text' },
        secondary: false,
        total: false,
        partial: options.partial,
        unitInCell: false,
      } as const;
      return [{ value: value.header, style: styleOf(text, false) }, ...cells, ...totals];
    });
  const beside: readonly { readonly text: string; readonly change?: true }[] = [
    ...comparisons.flatMap(({ kind }) => [
      { text: words.table.previousName[kind] },
      { text: texts.change(namedComparison(kind, comparisons)), change: true as const },
    ]),
    ...(toDate === undefined ? [] : [{ text: words.table.toDateName[toDate.unit] }]),
  ];
  const total = withRunningNote(totalHeading(table, words), table.running, words);
  const headings = [
    valueHeading(all, row, locale),
    ...beside.map(({ text }) => text),
    ...(differs ? [total, ...beside.map(({ text }) => `${total} · ${text}`)] : []),
  ];
  const formats = [undefined, ...beside.map(({ change }) => (change ? ('change' as const) : undefined))];
  const longest = columns.reduce((most, column) => Math.max(most, column.header.length), 0);
  return {
    widths: [Math.min(Math.max(longest + 2, 24), MAX_LABEL_WIDTH), ...headings.map(() => MAX_VALUE_WIDTH)],
    labels: 1,
    header: [
      { value: texts.metric, style: STYLES.headerLabel },
      ...headings.map((value, index) => ({ value, style: index === 0 ? STYLES.headerValue : STYLES.headerSecondary })),
    ],
    rows,
    count: rows.length,
    showsTotals: differs,
    filter: false,
    conditionalFormats: [undefined, ...formats, ...(differs ? formats : [])],
  };
}

/**
 * The grid of a section's figures.
 * @param columns the table's
 * @param locale BCP 47, for headings and bounds; Excel formats numbers and dates by its own locale
 */
export function buildGrid(table: Table, columns: readonly ViewColumn[], locale: string): Grid {
  return isTransposed(table, columns) ? transposedGrid(table, columns, locale) : tableGrid(table, columns, locale);
}
