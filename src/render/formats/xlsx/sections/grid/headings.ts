import type { Words } from '../../../../../i18n/messages.ts';
import type { ViewColumn } from '../../../../figures/columns.ts';
import { unitLabel } from '../../../../figures/format-value.ts';
import type { ColumnBlock, Scorecard } from '../../../../pack/pack.ts';
import type { CellStyle } from '../../style/styles.ts';
import type { Grid } from './grid.ts';

/** Headings in two levels. */
export interface Headings {
  /** The metric above a column of figures; undefined if it has no second level. */
  readonly over: (column: ViewColumn) => string | undefined;
  /** The text that its header cell shows. */
  readonly text: (column: ViewColumn) => string;
  /** Its name where there is no second level. */
  readonly name: (column: ViewColumn) => string;
}

/** Headings in which each column has its whole header. */
export const PLAIN_HEADINGS: Headings = {
  over: () => undefined,
  text: ({ header }) => header,
  name: ({ header }) => header,
};

const formatUnit = ({ quantity }: ViewColumn, words: Words): string => {
  const unit = unitLabel(quantity, words);
  return unit === undefined ? '' : ` (${unit})`;
};

/** The headings of a pack's blocks. Plain ones if no metric has several columns. */
export function buildHeadings(blocks: readonly ColumnBlock[], words: Words): Headings {
  const over = new Map<ViewColumn, string>();
  const texts = new Map<ViewColumn, string>();
  const names = new Map<ViewColumn, string>();
  for (const { title, columns, headings, names: own } of blocks.flatMap(({ groups }) => groups)) {
    for (const [index, column] of columns.entries()) {
      if (title === null) continue;
      names.set(column, own[index] ?? column.header);
      over.set(column, title);
      const heading = headings[index] ?? column.header;
      // For other changes the cells name the unit.
      const unit = column.role === 'change' && column.quantity.kind !== 'relative' ? formatUnit(column, words) : '';
      texts.set(column, `${heading}${unit}`);
    }
  }
  return {
    over: (column) => over.get(column),
    text: (column) => texts.get(column) ?? column.header,
    name: (column) => names.get(column) ?? column.header,
  };
}

/** Excel's limit for a number format. */
const MAX_FORMAT_LENGTH = 255;

/**
 * The style of a header cell that shows another text than it contains: programs read the column's full name, while
 * people see the metric above and a short heading.
 */
export function shownAs(style: CellStyle, text: string): CellStyle {
  const format = `;;;"${text.replaceAll('"', '”').replace(/[\r\n]+/g, ' ')}"`;
  return format.length > MAX_FORMAT_LENGTH ? style : { ...style, numFmt: format };
}

/**
 * A grid whose headings show the months of single figures. The cells keep their texts, which name the columns of the
 * Excel table.
 */
export function withPeriodHeadings(grid: Grid, { comparisons, headings }: Scorecard, words: Words): Grid {
  const { value } = words.workbook.section;
  const shown = new Map([
    ...[false, true].map(
      (running) => [withRunningNote(value, running, words), withRunningNote(headings.figure, running, words)] as const,
    ),
    ...comparisons.map((kind, index): [string, string] => {
      const name = words.table.previousName[kind];
      return [name, headings.compared[index]?.figure ?? name];
    }),
  ]);
  const header = grid.header.map((cell) => {
    const text = shown.get(String(cell.value)) ?? cell.value;
    return text === cell.value ? cell : { ...cell, style: shownAs(cell.style, String(text)) };
  });
  const withPeriods = (texts: readonly string[]) => texts.map((text) => shown.get(text) ?? text);
  return { ...grid, header, headings: withPeriods(grid.headings), names: withPeriods(grid.names) };
}

/** A heading of figures or totals, with a mark while the period is running. */
export const withRunningNote = (text: string, running: boolean, { table }: Words): string =>
  running ? `${text} · ${table.stillRunning}` : text;
