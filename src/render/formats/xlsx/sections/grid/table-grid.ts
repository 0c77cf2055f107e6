import type { Row, Table } from '../../../../../fetch/dataset.ts';
import { firstRows, iterateRows } from '../../../../../fetch/rows.ts';
import { messagesFor } from '../../../../../i18n/messages.ts';
import { isFigureColumn, type ViewColumn } from '../../../../figures/columns.ts';
import { totalHeading } from '../../../../table-notes.ts';
import type { ConditionalFormat } from '../../package/conditional-formatting.ts';
import type { Cell } from '../../package/sheet-rows.ts';
import { createDataStyles } from '../../style/data-styles.ts';
import { type CellStyle, STYLES } from '../../style/styles.ts';
import { textWidth } from '../../style/text-size.ts';
import { cellFactory, figureCell, isSecondary, type StyleOf } from './cell-value.ts';
import { computeWidth, MAX_LABEL_WIDTH } from './column-width.ts';
import type { Grid } from './grid.ts';
import { type Headings, shownAs, withRunningNote } from './headings.ts';

/** The number of rows on which column widths are measured, for speed. */
const MAX_MEASURED_ROWS = 500;
/** The width of a filter button beside a heading, in characters. */
const BUTTON_WIDTH = 5;
/** Data bars need at least this many rows. */
const MIN_BAR_ROWS = 4;

const headerStyle = (column: ViewColumn): CellStyle => {
  if (isSecondary(column)) return STYLES.headerSecondary;
  return isFigureColumn(column) ? STYLES.headerValue : STYLES.headerLabel;
};

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

/** Counts and durations with a positive value get data bars. Shares do not: they have a scale of their own. */
function conditionalFormatKind(table: Table, column: ViewColumn): ConditionalFormat['kind'] | undefined {
  if (column.role === 'change') return 'change';
  const measures = column.quantity.kind === 'count' || column.quantity.kind === 'duration';
  if (column.role !== 'value' || !measures || table.rows.length < MIN_BAR_ROWS) return undefined;
  return column.contents.positive ? 'bar' : undefined;
}

/** The grid of a table: one row per bucket and group, one column per label and figure. */
export function tableGrid(table: Table, columns: readonly ViewColumn[], headings: Headings, locale: string): Grid {
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
  const over = columns.map((column) => headings.over(column));
  const texts = columns.map((column) => headings.text(column));
  const twoLevels = over.some((text) => text !== undefined);
  // Beside short headings with two levels, labels also take one line and have space for a filter button.
  const labelWidth = (column: ViewColumn, index: number): number =>
    twoLevels && !isFigureColumn(column)
      ? Math.min(textWidth(texts[index] ?? '', { bold: true }) + BUTTON_WIDTH, MAX_LABEL_WIDTH)
      : 0;
  return {
    widths: columns.map((column, index) =>
      Math.max(
        computeWidth(column, texts[index] ?? '', measured, words),
        totalsHeadingWidth(index),
        labelWidth(column, index),
      ),
    ),
    labels: columns.filter((column) => !isFigureColumn(column)).length,
    header: columns.map((column, index) => {
      const text = texts[index] ?? column.header;
      const style = headerStyle(column);
      return { value: column.header, style: text === column.header ? style : shownAs(style, text) };
    }),
    headings: texts,
    names: columns.map((column) => headings.name(column)),
    ...(twoLevels ? { over } : {}),
    groups: columns.map((column) => (isFigureColumn(column) ? column.source.name : undefined)),
    rows: { [Symbol.iterator]: () => tableRows(table, columns, styleOf)[Symbol.iterator]() },
    count: table.rows.length,
    ...(table.totals === undefined ? {} : { totals }),
    showsTotals: table.totals !== undefined,
    // Below a metric, the headings of its figures have one line, which a button would cover.
    filters: columns.map(
      (column) => table.rows.length > 0 && !(isFigureColumn(column) && headings.over(column) !== undefined),
    ),
    conditionalFormats: columns.map((column) => conditionalFormatKind(table, column)),
  };
}
