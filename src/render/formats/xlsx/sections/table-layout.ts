import type { Chart } from '../../../charts/chart.ts';
import type { ChartPlace } from '../../../pack/pack.ts';
import { CHART_ROW_POINTS, canBeLower, chartRows } from '../charts/chart-placement.ts';
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
import { allHeaderPoints, dataRowPoints, gridPoints, headerRows, totalsPoints } from './grid/grid-rows.ts';
import { type PrintedCopy, printedCopy } from './printed-copy.ts';
import { type RowBreaks, rowBreaks, unmeasuredBreaks } from './row-breaks.ts';
import { linesPoints, type SheetLine } from './sheet-lines.ts';

/** Where the chart of a section goes. Distances from the left edge are in characters. */
export interface PlacedChart {
  readonly beside: boolean;
  readonly left: number;
  readonly right: number;
  /** Above the table: the number of its own rows. Beside it: the number of rows that it covers. */
  readonly rows: number;
  readonly rowPoints: number;
  /** No row of the table would fit below it on its page. */
  readonly ownPage: boolean;
}

/** The layout of a sheet with a table: its columns, the rows above the table, its pages. */
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
  /** The page breaks of the printed rows: those of the copy, if there is one. */
  readonly breaks: RowBreaks;
  /** Printed instead of the table. */
  readonly copy?: PrintedCopy;
  /** The whole sheet is printed on one page. */
  readonly onePage: boolean;
  /** The first row of the copy, counted from 1. */
  readonly copyRow: number;
}

/** The content of a sheet around the grid and in it. */
export interface SheetContent {
  readonly title: string;
  readonly above: readonly SheetLine[];
  readonly below: readonly SheetLine[];
  /** The number of rows that are printed. */
  readonly rows: number;
  /** Whether all rows of the grid are on this sheet. */
  readonly whole: boolean;
  readonly chart: { readonly chart: Chart; readonly place: ChartPlace } | undefined;
}

/** The height between the lines above and the chart or table. */
export const SPACER_POINTS = 5;
/** Tolerance in points, because heights are rounded to pixels. */
const ROUNDING_POINTS = 3;
/** The height between a chart and the table below it. */
export const CHART_GAP_POINTS = 6;

/** The smallest width of a chart beside its table, in characters. */
const MIN_CHART_CHARACTERS = 44;
const CHART_CHARACTERS = 64;
const BESIDE_GAP = 2;
const BESIDE_ROWS = 18;
/** Maximum height of frozen rows: higher ones would leave no space for the figures on a small screen. */
const MAX_FROZEN_POINTS = 200;
/** The smallest height of a chart's rows in points, if that brings its table onto the same page. */
const MIN_CHART_ROW_POINTS = 10.5;
/** The share of a chart's height that is visibly used. */
const CHART_USE = 0.6;
/** There must be space for at least this many table rows below a chart. */
const MIN_ROWS_BELOW_CHART = 4;
/** Longer tables are not measured: their pages break when they are full. */
const MAX_MEASURED_ROWS = 1000;
/**
 * If the columns take several pages and use less than this share of each, the table is printed with its columns as
 * rows.
 */
const MIN_PAGE_SHARE = 0.4;
/** If there are more label columns than this, they are not frozen. */
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

/** A table on paper. */
interface PrintedTable {
  /** The page at a scale of 100 %. */
  readonly page: Page;
  /** In per cent, from the table's width. */
  readonly scale: number;
  readonly pages: readonly ColumnSpan[];
  /** The height of the table and of everything below it, in points. */
  readonly figures: number;
}

/** The number of key columns. In a list, where all columns are labels, it is the first one. */
const keyColumns = ({ labels, header }: Grid): number => (labels === header.length ? Math.min(1, labels) : labels);

function placeChart(
  grid: Grid,
  { title, above, chart, rows }: SheetContent,
  { page, scale, pages, figures }: PrintedTable,
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
  const count = chartRows(chart.chart, pageAt(page, scale), head);
  const placed = { beside: false, left: 0, right: width.characters, rows: count };
  // A chart that is a little lower leaves room for its table on the same page.
  const left = Math.floor((4 * (pageAt(page, MIN_SCALE).points - head - CHART_GAP_POINTS - figures)) / count) / 4;
  if (canBeLower(chart.chart) && left >= MIN_CHART_ROW_POINTS && left < CHART_ROW_POINTS) {
    return { ...placed, rowPoints: left, ownPage: false };
  }
  const least = gridPoints(grid, Math.min(rows, MIN_ROWS_BELOW_CHART));
  const ownPage = head + count * CHART_ROW_POINTS + least > pageAt(page, scale).points;
  return { ...placed, rowPoints: CHART_ROW_POINTS, ownPage };
}

/**
 * Freezes the header with the rows above it, unless these are too high, and the label columns, unless there are too
 * many.
 */
function freezePanes(grid: Grid, headerRow: number, points: number): Pick<SheetOptions, 'freeze'> {
  const rows = points > MAX_FROZEN_POINTS ? 0 : headerRow;
  const columns = grid.labels <= MAX_FROZEN_COLUMNS && grid.labels < grid.header.length ? grid.labels : 0;
  return rows + columns === 0 ? {} : { freeze: { rows, columns } };
}

/** The heights of the printed rows, in points; undefined if there are too many to measure. */
function rowHeights(grid: Grid, { rows, whole }: SheetContent): number[] | undefined {
  if (!whole || rows > MAX_MEASURED_ROWS) return undefined;
  const heights: number[] = [];
  for (const cells of grid.rows) {
    if (heights.length >= rows) break;
    heights.push(dataRowPoints(cells, grid.widths));
  }
  return heights;
}

/** The copy for paper of a table with few rows and many columns. */
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
  // At the smallest scale a chart beside its table may get space that it would not have otherwise.
  const wanted = content.chart?.place === 'beside' ? characters + BESIDE_GAP + CHART_CHARACTERS : 0;
  const total = Math.max(page.characters, Math.min(wanted, pageAt(page, MIN_SCALE).characters));
  const filler = only ? total - characters : 0;
  const widths = filler >= 1 ? [...grid.widths, filler] : grid.widths;
  const columns = only ? widths.length : (pages[0]?.to ?? 0) + 1;
  const lines = { columns, characters: totalWidth(widths.slice(0, columns)) };
  const scale = only || copy !== undefined ? scaleForWidth(lines.characters, page) : split.scale;
  const heights = rowHeights(grid, content);
  const figures = copy?.points ?? gridPoints(grid, content.rows, heights);
  const below = content.below.length === 0 ? 0 : SPACER_POINTS + linesPoints(content.below, lines);
  const placed = placeChart(grid, content, { page, scale, pages, figures: figures + below + ROUNDING_POINTS }, lines);
  const head = titlePoints(content.title, lines.characters) + linesPoints(content.above, lines) + SPACER_POINTS;
  const chartPoints = placed === undefined || placed.beside ? 0 : placed.rows * placed.rowPoints + CHART_GAP_POINTS;
  const besidePoints = placed?.beside ? placed.rows * placed.rowPoints : 0;
  const above = placed?.ownPage ? 0 : head + chartPoints;
  const points = above + Math.max(figures, besidePoints) + below + ROUNDING_POINTS;
  const printedScale = scaleForHeight(points, page, scale);
  const totals = content.rows < grid.count ? 0 : totalsPoints(grid);
  const aboveChart = placed === undefined || placed.beside ? 0 : placed.rows + (placed.ownPage ? 0 : 1);
  // The table comes after its copy, the notes and two empty rows.
  const aboveTable = copy === undefined ? 0 : copy.rows.length + content.below.length + 2;
  const headerRow = 3 + content.above.length + aboveChart + aboveTable + headerRows(grid);
  const high = copy === undefined ? 0 : MAX_FROZEN_POINTS;
  return {
    widths,
    lines,
    headerRow,
    freeze: freezePanes(grid, headerRow, LINK_POINTS + head + chartPoints + allHeaderPoints(grid) + high),
    ...(placed === undefined ? {} : { chart: placed }),
    scale: printedScale,
    keys: split.keys,
    pages,
    breaks:
      heights === undefined || placed?.beside
        ? unmeasuredBreaks(content.rows, totals)
        : rowBreaks({
            heights: copy?.rows.map((row) => row.points) ?? heights,
            page: pageAt(page, printedScale).points,
            header: copy === undefined ? allHeaderPoints(grid) : 0,
            head: above,
            headUse: above === 0 ? 0 : head + CHART_USE * chartPoints,
            totals: copy === undefined ? totals : 0,
            notes: below,
            across: pages.length,
          }),
    ...(copy === undefined ? {} : { copy }),
    onePage: pages.length === 1 && !placed?.ownPage && points <= pageAt(page, printedScale).points,
    copyRow: headerRow - headerRows(grid) - aboveTable + 1,
  };
}
