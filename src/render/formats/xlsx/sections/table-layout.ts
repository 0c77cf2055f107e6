import type { Chart } from '../../../charts/chart.ts';
import type { ChartPlace } from '../../../pack/pack.ts';
import { CHART_ROW_POINTS, chartRows } from '../charts/chart-placement.ts';
import type { SheetOptions } from '../package/sheet-writer.ts';
import {
  type ColumnSpan,
  MIN_SCALE,
  type Page,
  pageAt,
  scaleForHeight,
  scaleForWidth,
  splitColumns,
} from '../style/page-layout.ts';
import { type LineWidth, lineHeightPoints, totalWidth } from '../style/text-size.ts';
import { LINK_POINTS, titlePoints } from '../workbook-context.ts';
import type { Grid } from './grid/grid.ts';
import { allHeaderPoints, dataRowPoints, gridPoints, headerRows } from './grid/grid-rows.ts';
import { type PrintedCopy, printedCopy } from './printed-copy.ts';
import { evenBreaks } from './row-breaks.ts';
import { linesPoints, type SheetLine } from './sheet-lines.ts';

/** Where the chart of a section goes: distances from the left edge in characters. */
export interface PlacedChart {
  readonly beside: boolean;
  readonly left: number;
  readonly right: number;
  /** Above the table: rows of its own. Beside it: rows that it covers. */
  readonly rows: number;
  readonly rowPoints: number;
  /** No row of the table would fit below it. */
  readonly ownPage: boolean;
}

/** A sheet with a table: its columns, its rows above the table, its pages. */
export interface TableLayout {
  readonly widths: readonly number[];
  readonly lines: LineWidth;
  /** The row of the table's header, counted from 1. */
  readonly headerRow: number;
  readonly freeze: Pick<SheetOptions, 'freeze'>;
  readonly chart?: PlacedChart;
  /** In per cent. */
  readonly scale: number;
  readonly keys: number;
  readonly pages: readonly ColumnSpan[];
  /** After how many rows of the table a page ends. */
  readonly breaks: readonly number[];
  /** Printed in place of the table. */
  readonly copy?: PrintedCopy;
}

/** What a sheet shows around and in its grid. */
export interface SheetContent {
  readonly title: string;
  readonly above: readonly SheetLine[];
  readonly below: readonly SheetLine[];
  /** Rows that are printed. */
  readonly rows: number;
  /** Whether all rows of the grid are on this sheet. */
  readonly whole: boolean;
  readonly chart: { readonly chart: Chart; readonly place: ChartPlace } | undefined;
}

/** Between the lines above and chart or table. */
export const SPACER_POINTS = 5;

/** A chart beside its table is at least this wide, in characters. */
const MIN_CHART_CHARACTERS = 44;
const CHART_CHARACTERS = 64;
const BESIDE_GAP = 2;
const BESIDE_ROWS = 18;
/** Maximum height of frozen rows: more would leave a small screen no space for the figures. */
const MAX_FROZEN_POINTS = 200;
/** Below a chart there is space for at least so many rows of the table. */
const MIN_ROWS_BELOW_CHART = 4;
/** Rows of more tables are not measured: their pages break where they are full. */
const MAX_MEASURED_ROWS = 1000;
/** A table over several pages of columns that takes less of each is printed with its columns as rows. */
const MIN_PAGE_SHARE = 0.4;
/** More label columns than these are not frozen. */
const MAX_FROZEN_COLUMNS = 3;

/** Columns that a page break must not separate. */
function columnGroups(groups: readonly (string | undefined)[], keys: number): ColumnSpan[] {
  const spans: { from: number; to: number }[] = [];
  for (let column = keys; column < groups.length; column += 1) {
    const last = spans.at(-1);
    const same = groups[column] !== undefined && groups[column] === groups[column - 1];
    if (last !== undefined && same) last.to = column;
    else spans.push({ from: column, to: column });
  }
  return spans;
}

/** The fields of a list name nothing but themselves: its first one is the key. */
const keyColumns = ({ labels, header }: Grid): number => (labels === header.length ? Math.min(1, labels) : labels);

function placeChart(
  grid: Grid,
  { title, above, chart, rows }: SheetContent,
  page: Page,
  pages: readonly ColumnSpan[],
  width: LineWidth,
): PlacedChart | undefined {
  if (chart === undefined) return undefined;
  const table = totalWidth(grid.widths);
  if (width.characters - table - BESIDE_GAP >= MIN_CHART_CHARACTERS && chart.place === 'beside' && pages.length === 1) {
    const extra = Math.ceil(allHeaderPoints(grid) / lineHeightPoints(1));
    return {
      beside: true,
      left: table + BESIDE_GAP,
      right: width.characters,
      rows: Math.max(BESIDE_ROWS - extra, Math.min(rows, BESIDE_ROWS)) + headerRows(grid),
      rowPoints: lineHeightPoints(1),
      ownPage: false,
    };
  }
  const head = titlePoints(title, width.characters) + linesPoints(above, width) + SPACER_POINTS;
  const count = chartRows(chart.chart, page, head);
  const used = head + count * CHART_ROW_POINTS;
  const least = gridPoints(grid, Math.min(rows, MIN_ROWS_BELOW_CHART));
  return {
    beside: false,
    left: 0,
    right: width.characters,
    rows: count,
    rowPoints: CHART_ROW_POINTS,
    // Below a chart the pages of further columns would be nearly empty.
    ownPage: pages.length > 1 || used + least > page.points,
  };
}

/**
 * Freezes the header with the rows above it, unless they are too high, and the label columns, unless they are many.
 */
function freezePanes(grid: Grid, headerRow: number, points: number): Pick<SheetOptions, 'freeze'> {
  const rows = points > MAX_FROZEN_POINTS ? 0 : headerRow;
  const columns = grid.labels <= MAX_FROZEN_COLUMNS && grid.labels < grid.header.length ? grid.labels : 0;
  return rows + columns === 0 ? {} : { freeze: { rows, columns } };
}

/** The rows of a table over several pages of columns, spread evenly. */
function rowBreaks(grid: Grid, content: SheetContent, page: Page, head: number): number[] {
  if (grid.count > MAX_MEASURED_ROWS || !content.whole || content.rows < grid.count) return [];
  const heights = [...grid.rows].map((cells) => dataRowPoints(cells, grid.widths));
  return evenBreaks(heights, page.points - allHeaderPoints(grid), head);
}

/** A table of few rows and many columns, for paper. */
function copyForPaper(grid: Grid, content: SheetContent, page: Page, scale: number): PrintedCopy | undefined {
  if (!content.whole || grid.count === 0 || content.rows < grid.count) return undefined;
  const small = gridPoints(grid, content.rows) < pageAt(page, scale).points * MIN_PAGE_SHARE;
  return small ? printedCopy(grid, page) : undefined;
}

/** Places a grid, its chart and its lines on pages. */
export function layoutTable(grid: Grid, content: SheetContent, page: Page): TableLayout {
  const keys = keyColumns(grid);
  const split = splitColumns(grid.widths, keys, columnGroups(grid.groups, keys), page);
  const copy = split.pages.length === 1 ? undefined : copyForPaper(grid, content, page, split.scale);
  const pages = copy === undefined ? split.pages : [{ from: 0, to: copy.columns - 1 }];
  const only = split.pages.length === 1;
  const characters = totalWidth(grid.widths);
  // The smallest scale gives a chart beside its table space that it would not have otherwise.
  const wanted = content.chart?.place === 'beside' ? characters + BESIDE_GAP + CHART_CHARACTERS : 0;
  const total = Math.max(page.characters, Math.min(wanted, pageAt(page, MIN_SCALE).characters));
  const filler = only ? total - characters : 0;
  const widths = filler >= 1 ? [...grid.widths, filler] : grid.widths;
  const columns = only ? widths.length : (pages[0]?.to ?? 0) + 1;
  const lines = { columns, characters: totalWidth(widths.slice(0, columns)) };
  const scale = only || copy !== undefined ? scaleForWidth(lines.characters, page) : split.scale;
  const placed = placeChart(grid, content, pageAt(page, scale), pages, lines);
  const head = titlePoints(content.title, lines.characters) + linesPoints(content.above, lines) + SPACER_POINTS;
  const chartPoints = placed === undefined || placed.beside ? 0 : placed.rows * placed.rowPoints + 6;
  const figures = copy?.points ?? gridPoints(grid, content.rows);
  const besidePoints = placed?.beside ? placed.rows * placed.rowPoints : 0;
  const points = head + chartPoints + Math.max(figures, besidePoints) + 8 + linesPoints(content.below, lines);
  const aboveChart = placed === undefined || placed.beside ? 0 : placed.rows + (placed.ownPage ? 0 : 1);
  // The table follows its copy, the notes and two empty rows.
  const aboveTable = copy === undefined ? 0 : copy.rows.length + content.below.length + 2;
  const headerRow = 3 + content.above.length + aboveChart + aboveTable + headerRows(grid);
  const high = copy === undefined ? 0 : MAX_FROZEN_POINTS;
  return {
    widths,
    lines,
    headerRow,
    freeze: freezePanes(grid, headerRow, LINK_POINTS + head + chartPoints + allHeaderPoints(grid) + high),
    ...(placed === undefined ? {} : { chart: placed }),
    scale: placed?.ownPage ? scale : scaleForHeight(points, page, scale),
    keys: split.keys,
    pages,
    breaks:
      pages.length === 1 ? [] : rowBreaks(grid, content, pageAt(page, scale), placed?.ownPage === true ? 0 : head),
    ...(copy === undefined ? {} : { copy }),
  };
}
