import type { ConditionalFormat } from '../../package/conditional-formatting.ts';
import type { Cell } from '../../package/sheet-rows.ts';
import type { SheetWriter } from '../../package/sheet-writer.ts';
import { canBeTable } from '../../package/table-part.ts';
import { STYLES } from '../../style/styles.ts';
import {
  LINE_POINTS,
  type LineWidth,
  lineCount,
  lineHeightPoints,
  measuredLineCount,
  totalWidth,
} from '../../style/text-size.ts';
import { NO_BREAKS, type RowBreaks } from '../row-breaks.ts';
import { writeLines } from '../sheet-lines.ts';
import type { Grid } from './grid.ts';

/** The height of the narrow row between rows and totals. */
const GAP_POINTS = 5;
const TOTALS_POINTS = 17;

/** Adjacent columns that share a heading in the upper header row. */
interface OverRun {
  readonly text: string | undefined;
  readonly from: number;
  readonly count: number;
}

/** The headings of the upper header row, with the columns below each. */
function overRuns(over: readonly (string | undefined)[]): OverRun[] {
  const runs: { text: string | undefined; from: number; count: number }[] = [];
  for (const [index, text] of over.entries()) {
    const last = runs.at(-1);
    if (last !== undefined && text !== undefined && last.text === text) last.count += 1;
    else runs.push({ text, from: index, count: 1 });
  }
  return runs;
}

/** The number of header rows: two if metrics are above their columns. */
export const headerRows = ({ over }: Grid): number => (over === undefined ? 1 : 2);

const overPoints = (grid: Grid): number => {
  const lines = overRuns(grid.over ?? []).map(({ text, from, count }) =>
    measuredLineCount(text ?? '', totalWidth(grid.widths.slice(from, from + count)) - 1, { bold: true }),
  );
  return Math.max(1, ...lines) * LINE_POINTS + 4;
};

/** The width of a filter button, in characters: a word of three letters and the space before it. */
const BUTTON = ' mmm';

/**
 * The height of the header. A filter button covers the end of a cell's last line, so it gets a line of its own if there
 * is text.
 */
function headerPoints({ header, headings, widths, filters }: Grid): number {
  const lines = headings.map((heading, index) => {
    const countLines = (text: string) => measuredLineCount(text, (widths[index] ?? 1) - 0.5, { bold: true });
    const own = countLines(heading);
    if (filters[index] !== true) return own;
    const isBeside = header[index]?.style.alignment?.horizontal === 'left' && countLines(heading + BUTTON) === own;
    return isBeside ? own : own + 1;
  });
  return Math.max(1, ...lines) * LINE_POINTS + 4;
}

/** The height of the totals with the gap above them, in points. */
export const totalsPoints = ({ totals }: Grid): number => (totals === undefined ? 0 : GAP_POINTS + TOTALS_POINTS);

/**
 * The height of header, rows and totals, in points.
 * @param heights heights of the rows; absent: one line each
 */
export const gridPoints = (grid: Grid, rows: number, heights?: readonly number[]): number =>
  allHeaderPoints(grid) +
  Math.max(lineHeightPoints(1), heights?.reduce((sum, each) => sum + each, 0) ?? rows * lineHeightPoints(1)) +
  totalsPoints(grid);

export const allHeaderPoints = (grid: Grid): number =>
  headerPoints(grid) + (grid.over === undefined ? 0 : overPoints(grid));

/** Long texts wrap, because text that is cut off would be lost in print. */
export function dataRowPoints(cells: readonly Cell[], widths: readonly number[]): number {
  let lines = 1;
  for (let index = 0; index < cells.length; index += 1) {
    const value = cells[index]?.value;
    if (typeof value === 'string') lines = Math.max(lines, lineCount(value, widths[index] ?? 1));
  }
  return lineHeightPoints(lines);
}

async function writeHeader(sheet: SheetWriter, grid: Grid): Promise<void> {
  if (grid.over !== undefined) {
    const cells: (Cell | undefined)[] = grid.over.map(() => undefined);
    for (const { text, from, count } of overRuns(grid.over)) {
      cells[from] =
        text === undefined
          ? { value: null, style: STYLES.headerBlank }
          : { value: text, style: STYLES.headerOver, span: count };
    }
    await sheet.addRow(cells, overPoints(grid));
  }
  await sheet.addRow(grid.header, headerPoints(grid));
}

/** The conditional formats of rows and totals. */
function conditionalFormats(grid: Grid, headerRow: number, count: number, lastRow: number): ConditionalFormat[] {
  const { rowChanges } = grid;
  const from = headerRow + 1;
  return grid.conditionalFormats.flatMap((kind, column): ConditionalFormat[] => {
    if (kind === undefined) return [];
    if (kind === 'bar') return [{ kind, column, rows: { from, to: headerRow + count } }];
    if (rowChanges === undefined) return [{ kind, column, rows: { from, to: lastRow } }];
    return rowChanges.flatMap((each, row) =>
      each === undefined ? [] : [{ kind: each, column, rows: { from: from + row, to: from + row } }],
    );
  });
}

/**
 * Writes header, rows and totals. A narrow empty row separates the totals from the filtered range, because sorting must
 * not move them.
 * @param slice the id of the Excel table, the rows of this sheet, and whether the totals follow
 * @param noRows shown if there are no rows
 */
export async function writeGrid(
  sheet: SheetWriter,
  { id, count, last }: { readonly id: string; readonly count: number; readonly last: boolean },
  grid: Grid,
  rows: Iterator<readonly Cell[]>,
  lines: LineWidth,
  noRows: string,
  breaks: RowBreaks = NO_BREAKS,
): Promise<void> {
  if (breaks.beforeHeader) sheet.addPageBreak();
  await writeHeader(sheet, grid);
  const headerRow = sheet.rowCount;
  const ends = new Set(breaks.after);
  for (let row = 0; row < count; row += 1) {
    const next = rows.next();
    if (next.done === true) break;
    if (ends.has(row)) sheet.addPageBreak();
    await sheet.addRow(next.value, dataRowPoints(next.value, grid.widths));
  }
  if (count === 0) await writeLines(sheet, [{ text: noRows, style: STYLES.quiet }], lines);
  const range = { id, headerRow, headers: grid.header.map(({ value }) => String(value)), rows: count };
  if (canBeTable(range)) sheet.addTable({ ...range, filters: grid.filters });
  else if (grid.filters.length > 0 && grid.filters.every((has) => has))
    sheet.addFilter({ row: headerRow, column: 1 }, { row: sheet.rowCount, column: grid.header.length });
  if (grid.totals !== undefined && last) {
    await sheet.addRow([], GAP_POINTS);
    await sheet.addRow(grid.totals, TOTALS_POINTS);
  }
  if (count > 0) sheet.addConditionalFormats(conditionalFormats(grid, headerRow, count, sheet.rowCount));
}
