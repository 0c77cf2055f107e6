import { SERIES_COLOURS } from '../../../charts/chart.ts';
import { sparklineSvg } from '../../../charts/sparkline.ts';
import { loadSvgRasterizer, type RasterizeSvg } from '../../../charts/svg-rasterizer.ts';
import type { Scorecard, ScorecardRow } from '../../../pack/pack.ts';
import type { PictureDrawing } from '../package/drawing-parts.ts';
import type { SheetWriter } from '../package/sheet-writer.ts';
import type { Sparkline } from '../package/sparkline-groups.ts';
import { canBeTable } from '../package/table-part.ts';
import { MIN_SCALE, type Page, pageAt, scaleForWidth } from '../style/page-layout.ts';
import { STYLES } from '../style/styles.ts';
import { LINE_POINTS, measuredLineCount, textRowPoints, totalWidth } from '../style/text-size.ts';
import type { WorkbookContext } from '../workbook-context.ts';
import { type ScorecardColumn, scorecardColumns, scorecardLabel } from './scorecard-columns.ts';

/** A scorecard with the widths of its columns. Together they are at least as wide as the page. */
export interface ScorecardLayout {
  readonly scorecard: Scorecard;
  readonly columns: readonly ScorecardColumn[];
  readonly widths: readonly number[];
  /** The scale of the printed sheet, in per cent, so that all columns fit across. */
  readonly scale: number;
  /** The height of all its rows. */
  readonly points: number;
}

const MIN_LABEL_WIDTH = 20;
const ROW_POINTS = 16;
const GROUP_POINTS = 18;

const headingLines = (heading: string, width: number): number =>
  measuredLineCount(heading, width - 0.5, { bold: true });

const headerPoints = (columns: readonly ScorecardColumn[], widths: readonly number[]): number =>
  Math.max(1, ...columns.map(({ heading }, index) => headingLines(heading, widths[index] ?? 1))) * LINE_POINTS + 5;

/** The height of a row, in which labels and usual ranges wrap. */
const rowPoints = (row: ScorecardRow, columns: readonly ScorecardColumn[], widths: readonly number[]): number =>
  Math.max(
    ROW_POINTS,
    ...columns.flatMap(({ kind }, index) => {
      const text = kind === 'label' ? scorecardLabel(row) : kind === 'range' ? row.usual : undefined;
      return text === undefined ? [] : [textRowPoints([text, widths[index] ?? 1])];
    }),
  );

/** Fits the columns of a scorecard to a page. The label takes the width that is left. */
export function layoutScorecard(
  scorecard: Scorecard,
  page: Page,
  { words, locale }: Pick<WorkbookContext, 'words' | 'locale'>,
): ScorecardLayout {
  const most = pageAt(page, MIN_SCALE).characters;
  const measureExcess = (all: readonly ScorecardColumn[]): number => totalWidth(all.map(({ width }) => width)) - most;
  const roomy = scorecardColumns(scorecard, words, locale, { narrow: false });
  const columns = measureExcess(roomy) > 0 ? scorecardColumns(scorecard, words, locale, { narrow: true }) : roomy;
  const wanted = columns.map(({ width }) => width);
  // Labels wrap, but figures do not.
  const excess = Math.max(0, measureExcess(columns));
  const narrow = wanted.map((width, index) => (index === 0 ? Math.max(MIN_LABEL_WIDTH, width - excess) : width));
  const scale = scaleForWidth(totalWidth(narrow), page);
  const left = Math.max(0, page.characters - totalWidth(narrow));
  const widths = narrow.map((width, index) => (index === 0 ? width + left : width));
  const points = scorecard.groups.reduce(
    (sum, { title, rows }) =>
      sum +
      (title === null ? 0 : GROUP_POINTS) +
      rows.reduce((height, row) => height + rowPoints(row, columns, widths), 0),
    headerPoints(columns, widths),
  );
  return { scorecard, columns, widths, scale, points };
}

/** In pixels, in a row of `ROW_POINTS`. */
const PICTURE_HEIGHT = 18;
const PIXELS_PER_CHARACTER = 7;
const PICTURE_MARGIN = 6;
const DENSITY = 2;
const LINE_COLOURS = { line: `#${SERIES_COLOURS[0]}`, last: `#${SERIES_COLOURS[1]}`, ground: '#ffffff' } as const;

type PictureSize = Pick<PictureDrawing, 'width' | 'height'>;

/**
 * The sparkline of a row as a picture, for programs that do not draw sparklines.
 * @param at its row and column, counted from 0
 */
const sparklinePicture = (
  { label, trend, trendText = '' }: ScorecardRow,
  at: { readonly row: number; readonly column: number; readonly points: number },
  size: PictureSize,
  rasterize: RasterizeSvg,
): PictureDrawing => ({
  ...size,
  name: label,
  description: trendText,
  format: 'png',
  bytes: rasterize(sparklineSvg(trend, size, LINE_COLOURS), DENSITY * size.width, { opaque: true }),
  from: {
    row: at.row,
    column: at.column,
    x: PICTURE_MARGIN,
    y: Math.max(0, (at.points / 0.75 - size.height) / 2),
  },
  insteadOfSparkline: true,
});

/**
 * Writes header and rows of a scorecard, with its sparklines, below the existing rows of a sheet. Without subheadings
 * it is an Excel table.
 * @param id id of its section; undefined if it has none
 * @returns the row of its header
 */
export async function writeScorecard(
  sheet: SheetWriter,
  { scorecard, columns, widths }: ScorecardLayout,
  id: string | undefined,
  { chartData }: Pick<WorkbookContext, 'chartData'>,
): Promise<number> {
  const sparklines: Sparkline[] = [];
  const pictures: PictureDrawing[] = [];
  const rasterize = chartData === undefined || chartData.trends.size === 0 ? undefined : await loadSvgRasterizer();
  const trendColumn = columns.findIndex(({ kind }) => kind === 'trend');
  const trendWidth = PIXELS_PER_CHARACTER * (widths[trendColumn] ?? 1);
  const size: PictureSize = { width: Math.max(1, trendWidth - PICTURE_MARGIN - 2), height: PICTURE_HEIGHT };
  await sheet.addRow(
    columns.map(({ header }) => header),
    headerPoints(columns, widths),
  );
  const headerRow = sheet.rowCount;
  for (const { title, rows } of scorecard.groups) {
    if (title !== null) {
      await sheet.addRow([{ value: title, style: STYLES.heading, span: columns.length }], GROUP_POINTS);
    }
    for (const row of rows) {
      const points = rowPoints(row, columns, widths);
      await sheet.addRow(
        columns.map((column) => column.cell(row)),
        points,
      );
      const cells = chartData?.trends.get(row);
      if (trendColumn === -1 || cells === undefined) continue;
      const { range, column } = cells;
      const at = { from: range.row + 1, to: range.row + cells.points };
      sparklines.push({
        row: sheet.rowCount,
        column: trendColumn,
        points: { sheet: range.sheet, column, rows: at },
        endsPartial: row.trend.at(-1)?.partial ?? false,
      });
      const isDrawn = row.trend.some(({ value }) => value !== null);
      if (rasterize !== undefined && isDrawn) {
        const place = { row: sheet.rowCount - 1, column: trendColumn, points };
        pictures.push(sparklinePicture(row, place, size, rasterize));
      }
    }
  }
  sheet.addDrawings(pictures);
  if (sparklines.length > 0) sheet.addSparklines(sparklines);
  const headers = columns.map(({ header }) => String(header.value));
  const rows = sheet.rowCount - headerRow;
  const plain = scorecard.groups.every(({ title }) => title === null);
  if (id !== undefined && plain && canBeTable({ rows, headers })) {
    sheet.addTable({ id, headerRow, headers, rows, filters: [] });
  }
  return headerRow;
}
