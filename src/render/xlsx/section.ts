import type { Dataset, Table, Value } from '../../fetch/dataset.ts';
import { type ViewColumn, viewColumns } from '../columns.ts';
import { civilDate, DAY_SECONDS, instant, type Quantity, UNDEFINED_TEXT, valueText } from '../format.ts';
import { readingNotes, tableFacts, tableNotes } from '../words.ts';
import { heightOf, LINE_POINTS, linesOf } from './measure.ts';
import { type CellStyle, COLOURS, createDataStyles, STYLES } from './style.ts';
import type { Book, Cell, Sheet } from './writer.ts';

const MIN_WIDTH = 9;
const MAX_LABEL_WIDTH = 48;
const MAX_VALUE_WIDTH = 18;
/** Rows whose texts are measured for the widths: enough to be right, few enough to stay quick. */
const MEASURED_ROWS = 500;
/** Rows up to which the texts of a section are kept in memory until the workbook ends. */
const MAX_SHARED_ROWS = 20_000;
/** Characters over which a page is turned on its side. */
const PORTRAIT_CHARACTERS = 95;

/** A raw value as Excel keeps it: durations are days, dates are dates, and what is undefined is a dash, not a number. */
function excelValue(value: Value, quantity: Quantity): Cell['value'] {
  if (value === null) return UNDEFINED_TEXT;
  if (typeof value === 'number')
    return quantity.kind === 'duration' && quantity.scale !== 'seconds' ? value / DAY_SECONDS : value;
  if (quantity.kind === 'bucket' || quantity.kind === 'day') return civilDate(value) ?? value;
  return quantity.kind === 'instant' ? (instant(value) ?? value) : value;
}

const isValue = (column: ViewColumn): boolean => ['value', 'previous', 'change'].includes(column.role);

const wordsLength = (text: string): number => text.split(/\s+/).reduce((most, word) => Math.max(most, word.length), 0);

/** Wide enough for the longest value and the longest word of the header, within reason. */
function widthOf(column: ViewColumn, table: Table): number {
  const most = isValue(column) ? MAX_VALUE_WIDTH : MAX_LABEL_WIDTH;
  const measured = table.rows.slice(0, MEASURED_ROWS);
  const lengths = measured.map((row) => valueText(column.read(row), column.quantity).length);
  const marked = column.role === 'bucket' && measured.some((row) => row.partial) ? ' · still running'.length : 0;
  // 2 for the cell's padding, 3 more in the header for the filter button.
  const content = Math.max(MIN_WIDTH, ...lengths.map((length) => length + marked + 2), wordsLength(column.header) + 3);
  return Math.min(Math.max(content, Math.min(column.header.length / 2 + 3, most)), most);
}

const headerStyle = (column: ViewColumn): CellStyle => {
  if (column.role === 'previous' || column.role === 'change') return STYLES.headerQuiet;
  return isValue(column) ? STYLES.headerValue : STYLES.headerLabel;
};

/** A line across all columns, as high as its text needs. */
async function fullWidth(sheet: Sheet, text: string, style: CellStyle, widths: readonly number[]): Promise<void> {
  const characters = widths.reduce((sum, width) => sum + width, 0);
  const span = widths.length > 1 ? { span: widths.length } : {};
  await sheet.row([{ value: text, style, ...span }], heightOf([text, characters]));
}

export interface SectionPage {
  readonly dataset: Dataset;
  readonly table: Table;
  readonly name: string;
  /** The contents sheet's name, for the way back. */
  readonly contents: string;
  readonly locale: string;
  readonly footer: { readonly left: string; readonly right: string };
}

/** One section as one sheet: title, what it covers, what is incomplete, the figures, the service's totals, notes. */
export async function writeSection(book: Book, page: SectionPage): Promise<void> {
  const { table } = page;
  const columns = viewColumns(table);
  // A label column for the word "Total" when the section has nothing but metrics.
  const needsLabel = table.totals !== undefined && columns.every(isValue);
  const labelWidth = needsLabel ? [14] : [];
  const widths = [...labelWidth, ...columns.map((column) => widthOf(column, table))];
  const characters = widths.reduce((sum, width) => sum + width, 0);
  // A short table must still have room for its title and notes.
  if (characters < 60 && widths.length > 0) widths.push(60 - characters);
  const notes = tableNotes(table);
  const above = [
    ...(table.description === undefined ? [] : [table.description]),
    ...tableFacts(page.dataset, table, page.locale),
  ];
  const warnings = notes.filter((note) => note.incomplete).map((note) => `Incomplete: ${note.text}`);
  const headerRow = 2 + above.length + warnings.length + 1;
  const labels = columns.filter((column) => !isValue(column)).length + labelWidth.length;

  const sheet = book.sheet(page.name, {
    widths,
    freeze: { rows: headerRow, columns: labels < columns.length && labels <= 3 ? labels : 0 },
    headerRow,
    landscape: characters > PORTRAIT_CHARACTERS,
    footer: page.footer,
    sharedStrings: table.rows.length <= MAX_SHARED_ROWS,
    ...(warnings.length > 0 ? { tab: COLOURS.warnInk } : {}),
  });

  await sheet.row([{ value: table.title, style: STYLES.title }], 26);
  for (const line of above) await fullWidth(sheet, line, STYLES.quiet, widths);
  for (const warning of warnings) await fullWidth(sheet, warning, STYLES.warning, widths);
  await sheet.row([{ value: '← Contents', style: STYLES.link, link: page.contents }]);

  const header = columns.map((column): Cell => ({ value: column.header, style: headerStyle(column) }));
  // Bold letters are wider, and the filter's button takes the last line.
  const lines = columns.map((column, index) =>
    linesOf(column.header, (widths[index + labelWidth.length] ?? MIN_WIDTH) - 1),
  );
  await sheet.row(
    [...(needsLabel ? [{ value: '', style: STYLES.headerLabel }] : []), ...header],
    (Math.max(1, ...lines) + 1) * LINE_POINTS + 4,
  );

  const styleOf = createDataStyles();
  const cellStyles = (partial: boolean, total: boolean) =>
    columns.map(({ quantity, role }) => {
      const style = { quantity, quiet: role === 'previous' || role === 'change', partial, total };
      return { shown: styleOf(style, false), undefined: styleOf(style, true) };
    });
  const whole = cellStyles(false, false);
  const running = cellStyles(true, false);
  const text = styleOf({ quantity: { kind: 'text' }, quiet: false, partial: false, total: false }, false);
  for (const row of table.rows) {
    const styles = row.partial ? running : whole;
    const cells = columns.map((column, index): Cell => {
      const value = column.read(row);
      const style = styles[index];
      return {
        value: excelValue(value, column.quantity),
        style: (value === null ? style?.undefined : style?.shown) ?? text,
      };
    });
    await sheet.row(
      needsLabel ? [{ value: 'Period', style: text }, ...cells] : cells,
      rowHeight(cells, widths, labelWidth.length),
    );
  }
  const lastData = sheet.rows;
  if (table.rows.length === 0)
    await fullWidth(sheet, 'No rows: the service has nothing for this section.', STYLES.quiet, widths);
  else sheet.filter({ row: headerRow, column: 1 }, { row: lastData, column: columns.length + labelWidth.length });

  if (table.totals !== undefined) await writeTotals(sheet, columns, needsLabel, styleOf);
  const remarks = [...notes.filter((note) => !note.incomplete).map((note) => note.text), ...readingNotes(table)];
  if (remarks.length > 0) {
    await sheet.row([], 8);
    for (const remark of remarks) await fullWidth(sheet, remark, STYLES.quiet, widths);
  }
  await sheet.close();
}

/** Long texts wrap: what a reader cannot see on paper would be cut silently. */
const rowHeight = (cells: readonly Cell[], widths: readonly number[], offset: number): number =>
  heightOf(
    ...cells.map(
      ({ value }, index) => [typeof value === 'string' ? value : '', widths[index + offset] ?? MIN_WIDTH] as const,
    ),
  );

/** A narrow empty row keeps the totals out of the filtered range, so that filtering and sorting never move them. */
async function writeTotals(
  sheet: Sheet,
  columns: readonly ViewColumn[],
  needsLabel: boolean,
  styleOf: ReturnType<typeof createDataStyles>,
): Promise<void> {
  const label = styleOf({ quantity: { kind: 'text' }, quiet: false, partial: false, total: true }, false);
  await sheet.row([], 5);
  const cells = columns.map((column, index): Cell => {
    if (column.total === undefined) return { value: index === 0 ? 'Total' : '', style: label };
    const quiet = column.role === 'previous' || column.role === 'change';
    const style = { quantity: column.quantity, quiet, partial: false, total: true };
    return { value: excelValue(column.total, column.quantity), style: styleOf(style, column.total === null) };
  });
  await sheet.row(needsLabel ? [{ value: 'Total', style: label }, ...cells] : cells);
}
