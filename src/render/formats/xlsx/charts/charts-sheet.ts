import { isolateBidi } from '../../../../base/text/bidi.ts';
import type { SheetDrawing } from '../package/drawing-parts.ts';
import type { WorkbookFile } from '../package/workbook-writer.ts';
import { COLOURS, STYLES } from '../style/styles.ts';
import { textRowPoints } from '../style/text-size.ts';
import {
  FIRST_PRINTED_ROW,
  footerOf,
  TITLE_POINTS,
  type WorkbookContext,
  writeSheetHeading,
} from '../workbook-context.ts';
import { CHART_ROW_POINTS, chartDrawings, chartRows } from './chart-placement.ts';

/** Of a chart on a page of its own. */
const LARGE_ROWS = 26;

/** The sheet of the charts that stand apart from their figures, one on a page, each with a link to its section. */
export async function writeChartsSheet(book: WorkbookFile, context: WorkbookContext, name: string): Promise<void> {
  const { pack, page, names, words, locale, chartData } = context;
  const widths = [page.characters];
  const sheet = book.addSheet(name, {
    widths,
    paper: page.paper,
    printed: pack.sections.some(({ chart, printed }) => chart?.place === 'own_sheet' && printed),
    footer: footerOf(context),
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
    // Each area begins a page; the first one has the title.
    if (printed) {
      const first = from === FIRST_PRINTED_ROW + 1 ? FIRST_PRINTED_ROW : from;
      sheet.addPrintArea({ rows: { from: first, to: sheet.rowCount }, columns: { from: 0, to: 0 } });
    }
    await sheet.addRow([], 12);
  }
  if (drawings.length > 0) sheet.addDrawings(drawings);
  await sheet.close();
}
