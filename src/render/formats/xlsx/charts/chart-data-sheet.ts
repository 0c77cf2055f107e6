import { isolateBidi } from '../../../../base/text/bidi.ts';
import { unitLabel } from '../../../figures/format-value.ts';
import { createRounder } from '../../../figures/quantity.ts';
import type { SheetDrawing } from '../package/drawing-parts.ts';
import type { Cell } from '../package/sheet-rows.ts';
import type { WorkbookFile } from '../package/workbook-writer.ts';
import { toCellValue } from '../sections/grid/cell-value.ts';
import { createDataStyles } from '../style/data-styles.ts';
import { COLOURS, STYLES } from '../style/styles.ts';
import { textRowPoints } from '../style/text-size.ts';
import {
  buildFooter,
  FIRST_PRINTED_ROW,
  TITLE_POINTS,
  type WorkbookContext,
  writeSheetHeading,
} from '../workbook-context.ts';
import { CHART_ROW_POINTS, chartDrawings, chartRows } from './chart-placement.ts';
import type { ChartData, DataBlock } from './data-blocks.ts';

const CATEGORY_WIDTH = 44;
const SERIES_WIDTH = 16;
const MIN_SERIES = 16;

/**
 * Writes the sheet of chart data. Charts cannot use the sections' sheets: Excel draws a dash as zero and an empty cell
 * as a gap.
 */
export async function writeChartData(
  book: WorkbookFile,
  context: WorkbookContext,
  { sheet: name, blocks }: ChartData,
): Promise<void> {
  const { words, locale, page } = context;
  const most = blocks.reduce((count, { block }) => Math.max(count, block.series.length), MIN_SERIES);
  const sheet = book.addSheet(name, {
    widths: [CATEGORY_WIDTH, ...Array.from({ length: most }, () => SERIES_WIDTH)],
    paper: page.paper,
    printed: false,
    footer: buildFooter(context),
    sharedStrings: true,
  });
  const styleOf = createDataStyles(words, locale);
  const text = styleOf(
    { quantity: { kind: 'text' }, secondary: false, partial: false, total: false, unitInCell: false },
    false,
  );
  const figure = (value: number | null, { quantity, secondary }: DataBlock['series'][number]): Cell => {
    const look = { quantity, secondary, partial: false, total: false, unitInCell: false };
    if (value === null) return { value: null, style: styleOf(look, false) };
    const style = styleOf({ ...look, rounding: createRounder(quantity)(value) }, false);
    return { value: toCellValue(value, quantity), style };
  };
  await writeSheetHeading(sheet, words.workbook.sheets.chartData, context);
  await sheet.addRow([{ value: words.workbook.charts.data, style: STYLES.plain }], 18);
  await sheet.addRow([], 6);
  for (const { block } of blocks) {
    // The names of the series are also the legend of the chart, so their units are in the row above.
    const units = block.series.map(
      ({ quantity }): Cell => ({ value: unitLabel(quantity, words) ?? null, style: STYLES.quietRight }),
    );
    await sheet.addRow([{ value: block.title, style: STYLES.subtitle }, ...units], 18);
    await sheet.addRow(
      [block.categoryTitle, ...block.series.map((series) => series.name)].map(
        (value, index): Cell => ({ value, style: index === 0 ? STYLES.headerLabel : STYLES.headerValue }),
      ),
      textRowPoints(...block.series.map((series) => [series.name, SERIES_WIDTH - 2] as const)),
    );
    for (const [index, category] of block.categories.entries()) {
      const cells = block.series.map((series) => figure(series.values[index] ?? null, series));
      await sheet.addRow([{ value: category, style: text }, ...cells], textRowPoints([category, CATEGORY_WIDTH - 2]));
    }
    await sheet.addRow([], 14.25);
  }
  await sheet.close();
}

/** The rows of a chart that has a page of its own. */
const LARGE_ROWS = 26;

/** Writes the sheet of charts that are not beside their figures: one per page, each with a link to its section. */
export async function writeChartsSheet(book: WorkbookFile, context: WorkbookContext, name: string): Promise<void> {
  const { pack, page, names, words, locale, chartData } = context;
  const widths = [page.characters];
  const sheet = book.addSheet(name, {
    widths,
    paper: page.paper,
    printed: pack.sections.some(({ chart, printed }) => chart?.place === 'own_sheet' && printed),
    footer: buildFooter(context),
    sharedStrings: true,
    tab: COLOURS.accent,
  });
  await writeSheetHeading(sheet, words.workbook.sheets.charts, context);
  const drawings: SheetDrawing[] = [];
  for (const [index, section] of pack.sections.entries()) {
    const { chart, table, title, printed } = section;
    const range = chartData?.charts.get(table.id);
    if (chart?.place !== 'own_sheet' || range === undefined) continue;
    const from = sheet.rowCount + 1;
    const rows = Math.max(chartRows(chart.chart, page, TITLE_POINTS * 2), LARGE_ROWS);
    const area = { widths, row: sheet.rowCount, left: 0, right: page.characters, rows };
    drawings.push(...chartDrawings(chart.chart, range, area, locale, true));
    for (let row = 0; row < rows; row += 1) await sheet.addRow([], CHART_ROW_POINTS);
    const link = words.workbook.charts.figures(isolateBidi(title));
    const target = names.sections[index]?.[0] ?? names.summary;
    await sheet.addRow([{ value: link, style: STYLES.back, link: target }], textRowPoints([link, page.characters]));
    // Each area begins a new page, and the first one has the title.
    if (printed) {
      const first = from === FIRST_PRINTED_ROW + 1 ? FIRST_PRINTED_ROW : from;
      sheet.addPrintArea({ rows: { from: first, to: sheet.rowCount }, columns: { from: 0, to: 0 } });
    }
    await sheet.addRow([], 12);
  }
  if (drawings.length > 0) sheet.addDrawings(drawings);
  await sheet.close();
}
