import { isolate } from '../../base/bidi.ts';
import type { Table } from '../../fetch/dataset.ts';
import { type Words, wordsOf } from '../../words/words.ts';
import { type Axis, type Chart, chartOf } from '../chart.ts';
import { valueText } from '../format.ts';
import { rounder } from '../rounding.ts';
import { type ChartRange, chartXml, smallLines } from './chart-xml.ts';
import type { Drawn } from './drawing.ts';
import { footerOf, type Pack } from './front.ts';
import { excelValue } from './grid.ts';
import { heightOf } from './measure.ts';
import { COLOURS, createDataStyles, STYLES } from './style.ts';
import type { Book, Cell } from './writer.ts';

/** Characters of the page's columns: together the width of a printed page, and of a chart. */
const WIDTHS = [32, 32, 32];
const PAGE_CHARACTERS = 96;
const ROW_POINTS = 15;
const CATEGORY_WIDTH = 44;
/** Rows that a chart covers: two of them stand on a printed page. */
const CHART_ROWS = 19;
/** Lying bars need a row each, up to a whole page. */
const MAX_CHART_ROWS = 42;

/** Of a small line; as many stand side by side as the page has columns. */
const SMALL_ROWS = 7;

const bandsOf = (chart: Chart): number => Math.ceil(chart.axes.length / WIDTHS.length);

const rowsOf = (chart: Chart): number =>
  chart.kind === 'sparkline'
    ? bandsOf(chart) * SMALL_ROWS
    : chart.kind === 'bar'
      ? Math.min(MAX_CHART_ROWS, Math.max(CHART_ROWS, chart.categories.length + 6))
      : CHART_ROWS;

/** A section that asks for a chart, with what is drawn of it and where its figures stand. */
interface Planned {
  readonly table: Table;
  readonly sheet: string;
  readonly chart: Chart | undefined;
  readonly range: ChartRange;
}

export interface ChartPages {
  readonly planned: readonly Planned[];
  readonly charts: string;
  readonly data: string;
}

/** The title, a line of explanation and an empty row stand above the first block. */
const FIRST_BLOCK = 5;

/** What is drawn, and at which rows its figures will stand; undefined when no section asks for a chart. */
export function planCharts(pack: Pack): ChartPages | undefined {
  const { charts, chartData } = pack.names;
  if (charts === undefined || chartData === undefined) return undefined;
  let row = FIRST_BLOCK;
  const planned = pack.dataset.tables.flatMap((table, index): Planned[] => {
    if (table.chart === undefined) return [];
    const chart = chartOf(table, pack.locale, undefined, pack.columns[index]);
    const range = { sheet: chartData, row };
    // A line with the section's title above, the names, the figures, an empty row.
    if (chart !== undefined) row += chart.categories.length + 3;
    return [{ table, sheet: pack.names.tables[index]?.[0] ?? table.id, chart, range }];
  });
  return { planned, charts, data: chartData };
}

/** For whoever cannot see the chart: what is drawn, along what, and where each line begins and ends. */
function describe(chart: Chart, axes: readonly Axis[], locale: string): string {
  const ends = [chart.categories[0] ?? '', chart.categories.at(-1) ?? ''].map(isolate);
  const { chart: words, table } = wordsOf(locale);
  const series = axes.flatMap((axis) =>
    axis.series.map(({ name, values, quantity }) => {
      const figures = [values[0], values.at(-1)].map((value) => valueText(value, quantity, locale));
      return chart.kind === 'bar'
        ? isolate(name)
        : `${isolate(name)} (${table.fromTo(figures[0] ?? '', figures[1] ?? '')})`;
    }),
  );
  return words.described(chart.kind, series, isolate(chart.categoryTitle), ends[0] ?? '', ends[1] ?? '');
}

/** The charts of a section where they stand: one across the page, or small lines side by side. */
function drawnOf(chart: Chart, range: ChartRange, top: number, locale: string): Drawn[] {
  if (chart.kind !== 'sparkline') {
    const to = { row: top + rowsOf(chart), column: WIDTHS.length };
    const description = describe(chart, chart.axes, locale);
    return [{ xml: chartXml(chart, range, locale), name: chart.title, description, from: { row: top, column: 0 }, to }];
  }
  return smallLines(chart, range, locale).map(({ axis, xml }, index): Drawn => {
    const from = { row: top + Math.floor(index / WIDTHS.length) * SMALL_ROWS, column: index % WIDTHS.length };
    const to = { row: from.row + SMALL_ROWS, column: from.column + 1 };
    return { xml, name: `${chart.title}: ${axis.title}`, description: describe(chart, [axis], locale), from, to };
  });
}

function remarkOf(table: Table, chart: Chart | undefined, { chart: words }: Words): string | undefined {
  if (chart === undefined) return table.rows.length === 0 ? words.noFigures : words.noAxis;
  return chart.omitted.length === 0 ? undefined : words.omits(chart.omitted);
}

/** Every chart of the pack on pages of its own, each with a link to its section. */
export async function writeCharts(book: Book, pack: Pack, pages: ChartPages): Promise<void> {
  const sheet = book.sheet(pages.charts, {
    widths: WIDTHS,
    landscape: false,
    footer: footerOf(pack),
    sharedStrings: true,
    tab: COLOURS.accent,
  });
  await sheet.row([{ value: pack.words.workbook.sheets.charts, style: STYLES.title }], 26);
  await sheet.row([{ value: pack.words.workbook.back, style: STYLES.back, link: pack.names.contents }], 22);
  const drawn: Drawn[] = [];
  // A chart that is cut by the end of a page cannot be read; half a page is left for each.
  let room = 2;
  for (const { table, sheet: section, chart, range } of pages.planned) {
    const needs = chart !== undefined && rowsOf(chart) > CHART_ROWS ? 2 : 1;
    if (needs > room) {
      sheet.endPage();
      room = 2;
    }
    room -= needs;
    if (chart !== undefined) {
      // A chart has its title in itself; small lines have one each.
      if (chart.kind === 'sparkline') {
        const style = STYLES.subtitle;
        await sheet.row(
          [{ value: chart.title, style, span: WIDTHS.length }],
          heightOf([chart.title, PAGE_CHARACTERS]) + 4,
        );
      }
      const top = sheet.rows;
      drawn.push(...drawnOf(chart, range, top, pack.locale));
      while (sheet.rows < top + rowsOf(chart)) await sheet.row([], ROW_POINTS);
    }
    const link = pack.words.workbook.charts.figures(isolate(table.title));
    await sheet.row(
      [{ value: link, style: STYLES.back, link: section, span: WIDTHS.length }],
      heightOf([link, PAGE_CHARACTERS]),
    );
    const remark = remarkOf(table, chart, pack.words);
    if (remark !== undefined) {
      await sheet.row(
        [{ value: remark, style: STYLES.quiet, span: WIDTHS.length }],
        heightOf([remark, PAGE_CHARACTERS]),
      );
    }
    await sheet.row([], 12);
  }
  if (drawn.length > 0) sheet.draw(drawn);
  await sheet.close();
}

/**
 * The figures that the charts draw, in cells of their own: where a section shows a dash, Excel would draw a zero; here
 * the cell is empty and the line has a gap.
 */
export async function writeChartData(book: Book, pack: Pack, pages: ChartPages): Promise<void> {
  const sheet = book.sheet(pages.data, {
    widths: [CATEGORY_WIDTH, ...Array.from({ length: 16 }, () => 16)],
    landscape: true,
    footer: footerOf(pack),
    sharedStrings: true,
  });
  const styleOf = createDataStyles(pack.words, pack.locale);
  const text = styleOf(
    { quantity: { kind: 'text' }, quiet: false, partial: false, total: false, unitInCell: false },
    false,
  );
  await sheet.row([{ value: pack.words.workbook.sheets.chartData, style: STYLES.title }], 26);
  await sheet.row([{ value: pack.words.workbook.back, style: STYLES.back, link: pack.names.contents }], 22);
  await sheet.row([{ value: pack.words.workbook.charts.data, style: STYLES.plain }], 18);
  for (const { chart } of pages.planned) {
    if (chart === undefined) continue;
    const series = chart.axes.flatMap((axis) => axis.series);
    const roundings = series.map(({ quantity }) => rounder(quantity));
    await sheet.row([{ value: chart.title, style: STYLES.subtitle }], 20);
    await sheet.row(
      [chart.categoryTitle, ...series.map(({ name }) => name)].map(
        (value, index): Cell => ({
          value,
          style: index === 0 ? STYLES.headerLabel : STYLES.headerValue,
        }),
      ),
      heightOf(...series.map(({ name }) => [name, 14] as const)),
    );
    for (const [index, category] of chart.categories.entries()) {
      const figures = series.map(({ values, quantity, previous }, place): Cell => {
        const value = values[index] ?? null;
        const face = { quantity, quiet: previous, partial: false, total: false, unitInCell: false };
        if (value === null) return { value: null, style: styleOf(face, false) };
        const rounding = roundings[place]?.(value);
        const style = styleOf(rounding === undefined ? face : { ...face, rounding }, false);
        return { value: excelValue(value, quantity), style };
      });
      await sheet.row([{ value: category, style: text }, ...figures], heightOf([category, CATEGORY_WIDTH - 2]));
    }
    await sheet.row([], ROW_POINTS);
  }
  await sheet.close();
}
