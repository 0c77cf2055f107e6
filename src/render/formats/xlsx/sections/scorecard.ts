import type { Scorecard, ScorecardRow } from '../../../pack/pack.ts';
import type { SheetWriter } from '../package/sheet-writer.ts';
import type { Sparkline } from '../package/sparkline-groups.ts';
import { canBeTable } from '../package/table-part.ts';
import { MIN_SCALE, type Page, pageAt, scaleForWidth } from '../style/page-layout.ts';
import { STYLES } from '../style/styles.ts';
import { LINE_POINTS, measuredLineCount, textRowPoints, totalWidth } from '../style/text-size.ts';
import type { WorkbookContext } from '../workbook-context.ts';
import { type ScorecardColumn, scorecardColumns, scorecardLabel } from './scorecard-columns.ts';

/** A scorecard with the widths of its columns: together at least as wide as the page. */
export interface ScorecardLayout {
  readonly scorecard: Scorecard;
  readonly columns: readonly ScorecardColumn[];
  readonly widths: readonly number[];
  /** Of the printed sheet, in per cent: all columns fit across. */
  readonly scale: number;
  /** Of all its rows. */
  readonly points: number;
}

const MIN_LABEL_WIDTH = 20;
const ROW_POINTS = 17;
const GROUP_POINTS = 20;

const headingLines = (heading: string, width: number): number =>
  measuredLineCount(heading, width - 0.5, { bold: true });

const headerPoints = (columns: readonly ScorecardColumn[], widths: readonly number[]): number =>
  Math.max(1, ...columns.map(({ heading }, index) => headingLines(heading, widths[index] ?? 1))) * LINE_POINTS + 5;

const rowPoints = (row: ScorecardRow, labelWidth: number): number =>
  Math.max(ROW_POINTS, textRowPoints([scorecardLabel(row), labelWidth]));

/** Places the columns of a scorecard on a page. The label takes the width that is left. */
export function layoutScorecard(
  scorecard: Scorecard,
  page: Page,
  { words, locale }: Pick<WorkbookContext, 'words' | 'locale'>,
): ScorecardLayout {
  const columns = scorecardColumns(scorecard, words, locale);
  const wanted = columns.map(({ width }) => width);
  // Labels wrap; figures do not.
  const excess = Math.max(0, totalWidth(wanted) - pageAt(page, MIN_SCALE).characters);
  const narrow = wanted.map((width, index) => (index === 0 ? Math.max(MIN_LABEL_WIDTH, width - excess) : width));
  const scale = scaleForWidth(totalWidth(narrow), page);
  const left = Math.max(0, page.characters - totalWidth(narrow));
  const widths = narrow.map((width, index) => (index === 0 ? width + left : width));
  const labelWidth = widths[0] ?? 1;
  const points = scorecard.groups.reduce(
    (sum, { title, rows }) =>
      sum + (title === null ? 0 : GROUP_POINTS) + rows.reduce((height, row) => height + rowPoints(row, labelWidth), 0),
    headerPoints(columns, widths),
  );
  return { scorecard, columns, widths, scale, points };
}

/**
 * Writes header and rows of a scorecard below the rows that a sheet has, with its sparklines. Without subheadings it is
 * an Excel table.
 * @param id of its section; undefined where it has none
 * @returns the row of its header
 */
export async function writeScorecard(
  sheet: SheetWriter,
  { scorecard, columns, widths }: ScorecardLayout,
  id: string | undefined,
  { chartData }: Pick<WorkbookContext, 'chartData'>,
): Promise<number> {
  const sparklines: Sparkline[] = [];
  const trendColumn = columns.findIndex(({ kind }) => kind === 'trend');
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
      await sheet.addRow(
        columns.map((column) => column.cell(row)),
        rowPoints(row, widths[0] ?? 1),
      );
      const cells = chartData?.trends.get(row);
      if (trendColumn === -1 || cells === undefined) continue;
      const { range, column, points } = cells;
      const at = { from: range.row + 1, to: range.row + points };
      sparklines.push({
        row: sheet.rowCount,
        column: trendColumn,
        points: { sheet: range.sheet, column, rows: at },
        endsPartial: row.trend.at(-1)?.partial ?? false,
      });
    }
  }
  if (sparklines.length > 0) sheet.addSparklines(sparklines);
  const headers = columns.map(({ header }) => String(header.value));
  const rows = sheet.rowCount - headerRow;
  const plain = scorecard.groups.every(({ title }) => title === null);
  if (id !== undefined && plain && canBeTable({ rows, headers })) {
    sheet.addTable({ id, headerRow, headers, rows, filters: [] });
  }
  return headerRow;
}
