import { isolateBidi } from '../../../base/text/bidi.ts';
import type { Table } from '../../../fetch/dataset.ts';
import { messagesFor, type Words } from '../../../i18n/messages.ts';
import { type Axis, buildChart, type Chart } from '../../charts/chart.ts';
import { formatValue, unitLabel } from '../../figures/format-value.ts';
import { createRounder } from '../../figures/quantity.ts';
import { type ChartRange, chartXml, sparklineCharts } from './chart-xml.ts';
import type { SheetDrawing } from './drawing-parts.ts';
import { toCellValue } from './grid.ts';
import type { Cell } from './sheet-rows.ts';
import { COLOURS, createDataStyles, STYLES, textRowPoints } from './style.ts';
import { footerOf, type WorkbookContext, writeSheetHeading } from './workbook-context.ts';
import type { WorkbookFile } from './workbook-writer.ts';

/** Column widths in characters: together the width of a printed page, and of a chart. */
const WIDTHS = [32, 32, 32];
const PAGE_CHARACTERS = 96;
const ROW_POINTS = 15;
const CATEGORY_WIDTH = 44;
/** Rows that a chart covers: half a printed page. */
const CHART_ROWS = 19;
/** Horizontal bars need a row each, up to a whole page. */
const MAX_CHART_ROWS = 42;

/** Rows that a sparkline covers. One per page column fits side by side. */
const SPARKLINE_ROWS = 7;

const sparklineBands = (chart: Chart): number => Math.ceil(chart.axes.length / WIDTHS.length);

const chartRows = (chart: Chart): number =>
  chart.kind === 'sparkline'
    ? sparklineBands(chart) * SPARKLINE_ROWS
    : chart.kind === 'bar'
      ? Math.min(MAX_CHART_ROWS, Math.max(CHART_ROWS, chart.categories.length + 6))
      : CHART_ROWS;

/** A section with a chart: the chart's data and their range on the data sheet. */
interface PlannedChart {
  readonly table: Table;
  readonly sheet: string;
  /** Undefined when nothing can be drawn. */
  readonly chart: Chart | undefined;
  readonly range: ChartRange;
}

export interface ChartSheets {
  readonly planned: readonly PlannedChart[];
  readonly charts: string;
  readonly data: string;
}

/** The first row of chart data: heading, explanation and an empty row are above it. */
const FIRST_BLOCK = 5;

/** The charts and the rows of their data; undefined when no section has a chart. */
export function planCharts(context: WorkbookContext): ChartSheets | undefined {
  const { charts, chartData } = context.names;
  if (charts === undefined || chartData === undefined) return undefined;
  let row = FIRST_BLOCK;
  const planned = context.dataset.tables.flatMap((table, index): PlannedChart[] => {
    if (table.chart === undefined) return [];
    const chart = buildChart(table, context.locale, undefined, context.columns[index]);
    const range = { sheet: chartData, row };
    // Title, header, one row per category, an empty row.
    if (chart !== undefined) row += chart.categories.length + 3;
    return [{ table, sheet: context.names.tables[index]?.[0] ?? table.id, chart, range }];
  });
  return { planned, charts, data: chartData };
}

/** The alternative text of a chart: kind, category axis, and the first and last value of each series. */
function chartDescription(chart: Chart, axes: readonly Axis[], locale: string): string {
  const ends = [chart.categories[0] ?? '', chart.categories.at(-1) ?? ''].map(isolateBidi);
  const { chart: words, table } = messagesFor(locale);
  const series = axes.flatMap((axis) =>
    axis.series.map(({ name, values, quantity }) => {
      const figures = [values[0], values.at(-1)].map((value) => formatValue(value, quantity, locale));
      return chart.kind === 'bar'
        ? isolateBidi(name)
        : `${isolateBidi(name)} (${table.fromTo(figures[0] ?? '', figures[1] ?? '')})`;
    }),
  );
  return words.described(chart.kind, series, isolateBidi(chart.categoryTitle), ends[0] ?? '', ends[1] ?? '');
}

/** The drawings of a chart from row `top`: one across the page, or sparklines side by side. */
function chartDrawings(chart: Chart, range: ChartRange, top: number, locale: string): SheetDrawing[] {
  if (chart.kind !== 'sparkline') {
    const to = { row: top + chartRows(chart), column: WIDTHS.length };
    const description = chartDescription(chart, chart.axes, locale);
    return [{ xml: chartXml(chart, range, locale), name: chart.title, description, from: { row: top, column: 0 }, to }];
  }
  return sparklineCharts(chart, range, locale).map(({ axis, xml }, index): SheetDrawing => {
    const from = { row: top + Math.floor(index / WIDTHS.length) * SPARKLINE_ROWS, column: index % WIDTHS.length };
    const to = { row: from.row + SPARKLINE_ROWS, column: from.column + 1 };
    return {
      xml,
      name: `${chart.title}: ${axis.title}`,
      description: chartDescription(chart, [axis], locale),
      from,
      to,
    };
  });
}

function chartNote(table: Table, chart: Chart | undefined, { chart: words }: Words): string | undefined {
  if (chart === undefined) return table.rows.length === 0 ? words.noFigures : words.noAxis;
  return chart.omitted.length === 0 ? undefined : words.omits(chart.omitted);
}

/** The sheet of charts, each with a link to its section. */
export async function writeCharts(book: WorkbookFile, context: WorkbookContext, pages: ChartSheets): Promise<void> {
  const sheet = book.addSheet(pages.charts, {
    widths: WIDTHS,
    landscape: false,
    footer: footerOf(context),
    sharedStrings: true,
    tab: COLOURS.accent,
  });
  await writeSheetHeading(sheet, context.words.workbook.sheets.charts, context, 22);
  const drawings: SheetDrawing[] = [];
  // A page break must not cut a chart: each takes one or two halves of a page.
  let halvesLeft = 2;
  for (const { table, sheet: section, chart, range } of pages.planned) {
    const halves = chart !== undefined && chartRows(chart) > CHART_ROWS ? 2 : 1;
    if (halves > halvesLeft) {
      sheet.addPageBreak();
      halvesLeft = 2;
    }
    halvesLeft -= halves;
    if (chart !== undefined) {
      // Other charts contain the title; sparklines contain the name of their figure.
      if (chart.kind === 'sparkline') {
        const style = STYLES.subtitle;
        await sheet.addRow(
          [{ value: chart.title, style, span: WIDTHS.length }],
          textRowPoints([chart.title, PAGE_CHARACTERS]) + 4,
        );
      }
      const top = sheet.rowCount;
      drawings.push(...chartDrawings(chart, range, top, context.locale));
      while (sheet.rowCount < top + chartRows(chart)) await sheet.addRow([], ROW_POINTS);
    }
    const link = context.words.workbook.charts.figures(isolateBidi(table.title));
    await sheet.addRow(
      [{ value: link, style: STYLES.back, link: section, span: WIDTHS.length }],
      textRowPoints([link, PAGE_CHARACTERS]),
    );
    const note = chartNote(table, chart, context.words);
    if (note !== undefined) {
      await sheet.addRow(
        [{ value: note, style: STYLES.quiet, span: WIDTHS.length }],
        textRowPoints([note, PAGE_CHARACTERS]),
      );
    }
    await sheet.addRow([], 12);
  }
  if (drawings.length > 0) sheet.addDrawings(drawings);
  await sheet.close();
}

/**
 * The sheet of chart data. The charts cannot use the section sheets: Excel draws a dash as zero, and an empty cell as a
 * gap.
 */
export async function writeChartData(book: WorkbookFile, context: WorkbookContext, pages: ChartSheets): Promise<void> {
  const sheet = book.addSheet(pages.data, {
    widths: [CATEGORY_WIDTH, ...Array.from({ length: 16 }, () => 16)],
    landscape: true,
    footer: footerOf(context),
    sharedStrings: true,
  });
  const styleOf = createDataStyles(context.words, context.locale);
  const text = styleOf(
    { quantity: { kind: 'text' }, secondary: false, partial: false, total: false, unitInCell: false },
    false,
  );
  await writeSheetHeading(sheet, context.words.workbook.sheets.chartData, context, 22);
  await sheet.addRow([{ value: context.words.workbook.charts.data, style: STYLES.plain }], 18);
  for (const { chart } of pages.planned) {
    if (chart === undefined) continue;
    const series = chart.axes.flatMap((axis) => axis.series);
    const roundings = series.map(({ quantity }) => createRounder(quantity));
    // The names of the series are the legend of the chart too: their units stand above them.
    const units = series.map(
      ({ quantity }): Cell => ({
        value: unitLabel(quantity, context.words) ?? null,
        style: STYLES.quietRight,
      }),
    );
    await sheet.addRow([{ value: chart.title, style: STYLES.subtitle }, ...units], 20);
    await sheet.addRow(
      [chart.categoryTitle, ...series.map(({ name }) => name)].map(
        (value, index): Cell => ({
          value,
          style: index === 0 ? STYLES.headerLabel : STYLES.headerValue,
        }),
      ),
      textRowPoints(...series.map(({ name }) => [name, 14] as const)),
    );
    for (const [index, category] of chart.categories.entries()) {
      const figures = series.map(({ values, quantity, previous }, place): Cell => {
        const value = values[index] ?? null;
        const look = { quantity, secondary: previous, partial: false, total: false, unitInCell: false };
        if (value === null) return { value: null, style: styleOf(look, false) };
        const rounding = roundings[place]?.(value);
        const style = styleOf(rounding === undefined ? look : { ...look, rounding }, false);
        return { value: toCellValue(value, quantity), style };
      });
      await sheet.addRow([{ value: category, style: text }, ...figures], textRowPoints([category, CATEGORY_WIDTH - 2]));
    }
    await sheet.addRow([], ROW_POINTS);
  }
  await sheet.close();
}
