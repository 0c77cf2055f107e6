import { isolateBidi } from '../../../../base/text/bidi.ts';
import { messagesFor } from '../../../../i18n/messages.ts';
import type { Axis, Chart } from '../../../charts/chart.ts';
import { formatValue } from '../../../figures/format-value.ts';
import type { CellPosition, SheetDrawing } from '../package/drawing-parts.ts';
import type { Page } from '../style/page-layout.ts';
import type { ChartRange } from './chart-elements.ts';
import { chartXml, sparklineCharts } from './chart-xml.ts';

/** Pixels (1/96 inch) per character of a column's width in Excel. */
const CHARACTER_PIXELS = 7;

/** The height of rows that only hold a chart, in points. */
export const CHART_ROW_POINTS = 14.25;

/** The cell at a distance from the left edge of a sheet, in characters. */
function cellAt(widths: readonly number[], row: number, characters: number): CellPosition {
  let left = characters;
  for (const [column, width] of widths.entries()) {
    if (left < width) return { row, column, x: left * CHARACTER_PIXELS };
    left -= width;
  }
  return { row, column: widths.length };
}

/** Where drawings go. Rows are counted from 0; distances from the left edge are in characters. */
export interface DrawingArea {
  readonly widths: readonly number[];
  readonly row: number;
  readonly left: number;
  readonly right: number;
  /** The number of rows, each `CHART_ROW_POINTS` high. */
  readonly rows: number;
}

/** The edges of one of several drawings that stand side by side. */
export function areaSlice({ widths, row, left, right, rows }: DrawingArea, index: number, count: number) {
  const width = (right - left) / count;
  return {
    from: cellAt(widths, row, left + index * width),
    to: cellAt(widths, row + rows, left + (index + 1) * width),
  };
}

const SPARKLINES_ABREAST = 3;
const SPARKLINE_ROWS = 7;
const CHART_ROWS = 15;
/** The most horizontal bars in a chart of the usual height. */
const MAX_USUAL_BARS = 12;

/** A legend with up to this many letters fits on a line. In a longer one, each name has a line. */
const LEGEND_LETTERS = 110;
/** Names with up to this many letters fit on a line above a small chart. */
const SMALL_TITLE_LETTERS = 36;

/** The number of rows for a legend that does not fit on one line. */
function legendRows({ axes }: Chart): number {
  const names = axes.flatMap(({ series }) => series.map(({ name }) => name));
  return names.join('').length + 4 * names.length > LEGEND_LETTERS ? names.length - 1 : 0;
}

/** Whether a chart may be a little lower: none of its names needs more than one line. */
export const canBeLower = (chart: Chart): boolean =>
  chart.kind === 'sparkline'
    ? chart.axes.every(({ title }) => title.length <= SMALL_TITLE_LETTERS)
    : legendRows(chart) === 0 && (chart.kind !== 'bar' || chart.categories.length <= MAX_USUAL_BARS);

/** The number of rows, each `CHART_ROW_POINTS` high, that a chart takes: at most a page. */
export function chartRows(chart: Chart, page: Page, above: number): number {
  const most = Math.max(CHART_ROWS, Math.floor((page.points - above) / CHART_ROW_POINTS) - 1);
  if (chart.kind === 'sparkline') return Math.ceil(chart.axes.length / SPARKLINES_ABREAST) * SPARKLINE_ROWS;
  if (chart.kind !== 'bar' || chart.categories.length <= MAX_USUAL_BARS) {
    return Math.min(CHART_ROWS + legendRows(chart), most);
  }
  return Math.min(chart.categories.length + 5 + legendRows(chart), most);
}

/** The alternative text of a chart: its kind, its category axis, and the first and last value of each series. */
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

/**
 * The drawings of a chart: one across the area, or several sparklines side by side.
 * @param titled false if the sheet has the title just above
 */
export function chartDrawings(
  chart: Chart,
  range: ChartRange,
  area: DrawingArea,
  locale: string,
  titled: boolean,
): SheetDrawing[] {
  if (chart.kind !== 'sparkline') {
    const description = chartDescription(chart, chart.axes, locale);
    const xml = chartXml(chart, range, locale, titled);
    return [{ xml, name: chart.title, description, ...areaSlice(area, 0, 1) }];
  }
  return sparklineCharts(chart, range, locale).map(({ axis, xml }, index): SheetDrawing => {
    const row = area.row + Math.floor(index / SPARKLINES_ABREAST) * SPARKLINE_ROWS;
    return {
      xml,
      name: `${chart.title}: ${axis.title}`,
      description: chartDescription(chart, [axis], locale),
      ...areaSlice({ ...area, row, rows: SPARKLINE_ROWS }, index % SPARKLINES_ABREAST, SPARKLINES_ABREAST),
    };
  });
}
