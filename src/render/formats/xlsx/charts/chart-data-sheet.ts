import { unitLabel } from '../../../figures/format-value.ts';
import { createRounder } from '../../../figures/quantity.ts';
import type { Cell } from '../package/sheet-rows.ts';
import type { WorkbookFile } from '../package/workbook-writer.ts';
import { toCellValue } from '../sections/grid/cell-value.ts';
import { createDataStyles } from '../style/data-styles.ts';
import { STYLES } from '../style/styles.ts';
import { textRowPoints } from '../style/text-size.ts';
import { footerOf, type WorkbookContext, writeSheetHeading } from '../workbook-context.ts';
import type { ChartData, DataBlock } from './data-blocks.ts';

const CATEGORY_WIDTH = 44;
const SERIES_WIDTH = 16;
const MIN_SERIES = 16;

/**
 * The sheet of chart data. The charts cannot use the section sheets: Excel draws a dash as zero, and an empty cell as a
 * gap.
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
    footer: footerOf(context),
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
    // The names of the series are the legend of the chart too: their units are above them.
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
