import { messagesFor } from '../../../../i18n/messages.ts';
import { axisScales } from '../../../charts/axis-scale.ts';
import { type Axis, type Chart, PREVIOUS_PERIOD_COLOUR, SERIES_COLOURS } from '../../../charts/chart.ts';
import type { Series } from '../../../charts/chart-data.ts';
import { truncateLabels } from '../../../charts/label-texts.ts';
import { unitLabel } from '../../../figures/format-value.ts';
import { createRounder } from '../../../figures/quantity.ts';
import { escapeXml } from '../package/xml-text.ts';
import { toCellValue } from '../sections/grid/cell-value.ts';
import { figureNumberFormat, quantityNumberFormat } from '../style/number-formats.ts';
import { categoryAxis, cellUnit, hiddenAxes, valueAxis } from './chart-axes.ts';
import {
  type ChartRange,
  chartSpace,
  hatchedPoint,
  lineXml,
  pointsXml,
  rangeReference,
  smallText,
  stringsXml,
  TEXT_SIZE,
} from './chart-elements.ts';

/** A hollow point, for a bucket that is cut off or has not ended. */
export const hollowPoint = (index: number, marker: string, colour: string): string =>
  `<c:dPt><c:idx val="${index}"/><c:marker><c:symbol val="${marker}"/><c:size val="7"/><c:spPr><a:solidFill><a:srgbClr val="FFFFFF"/></a:solidFill>${lineXml(colour, 19_050)}</c:spPr></c:marker><c:bubble3D val="0"/></c:dPt>`;

const MARKERS = ['circle', 'square', 'triangle', 'diamond', 'x', 'star', 'plus', 'dash'];

/** The values as their cells hold them, because the chart's cached copy must equal the cells. */
export const plottedValues = (series: Pick<Series, 'values' | 'quantity'>): (number | null)[] =>
  series.values.map((value) => {
    const cell = value === null ? null : toCellValue(value, series.quantity);
    return typeof cell === 'number' ? cell : null;
  });

interface SeriesColumn {
  readonly series: Series;
  /** Its column on the sheet, counted from 0. */
  readonly column: number;
}

/** Labels the end of a sparkline with its last value, because it has no axis. */
function lastValueLabel(series: Series, locale: string): string {
  const last = series.values.findLastIndex((value) => value !== null);
  const value = series.values[last] ?? null;
  if (series.previous || value === null) return '';
  const shown = (on: boolean) =>
    `<c:showLegendKey val="0"/><c:showVal val="${on ? 1 : 0}"/><c:showCatName val="0"/><c:showSerName val="0"/><c:showPercent val="0"/><c:showBubbleSize val="0"/>`;
  const code = figureNumberFormat(series.quantity, createRounder(series.quantity)(value), locale);
  const format = `<c:numFmt formatCode="${escapeXml(code)}" sourceLinked="0"/>`;
  return `<c:dLbls><c:dLbl><c:idx val="${last}"/>${format}<c:spPr><a:noFill/></c:spPr>${smallText}<c:dLblPos val="r"/>${shown(true)}</c:dLbl>${shown(false)}</c:dLbls>`;
}

/** Dots for figures without a neighbour: a line without markers would not show them. */
function loneDots({ values }: Series, colour: string, others: readonly number[]): string {
  const isShown = (index: number): boolean => (values[index] ?? null) !== null;
  return values
    .flatMap((_, index) => (isShown(index) && !isShown(index - 1) && !isShown(index + 1) ? [index] : []))
    .filter((index) => !others.includes(index))
    .map(
      (index) =>
        `<c:dPt><c:idx val="${index}"/><c:marker><c:symbol val="circle"/><c:size val="5"/><c:spPr><a:solidFill><a:srgbClr val="${colour}"/></a:solidFill><a:ln><a:noFill/></a:ln></c:spPr></c:marker><c:bubble3D val="0"/></c:dPt>`,
    )
    .join('');
}

function seriesXml(
  chart: Chart,
  range: ChartRange,
  { series, column }: SeriesColumn,
  asLine: boolean,
  locale: string,
): string {
  const small = chart.kind === 'sparkline';
  const index = small ? 0 : column - 1;
  const last = chart.categories.length;
  const colour = series.previous
    ? PREVIOUS_PERIOD_COLOUR
    : (SERIES_COLOURS[index % SERIES_COLOURS.length] ?? PREVIOUS_PERIOD_COLOUR);
  const marker = MARKERS[index % MARKERS.length] ?? 'circle';
  const bare = series.previous || small;
  const unfinished = series.previous
    ? []
    : series.values.flatMap((value, at) => (value !== null && chart.partial?.[at] === true ? [at] : []));
  const points = unfinished.map((at) => (asLine ? hollowPoint(at, marker, colour) : hatchedPoint(at, colour))).join('');
  const shape = asLine
    ? `<c:spPr>${lineXml(colour, small ? 19_050 : 28_575, series.previous ? '<a:prstDash val="dash"/>' : '')}</c:spPr>` +
      `<c:marker><c:symbol val="${bare ? 'none' : marker}"/>${bare ? '' : `<c:size val="6"/><c:spPr><a:solidFill><a:srgbClr val="${colour}"/></a:solidFill><a:ln><a:noFill/></a:ln></c:spPr>`}</c:marker>${bare ? loneDots(series, colour, unfinished) : ''}${points}`
    : `<c:spPr><a:solidFill><a:srgbClr val="${colour}"/></a:solidFill></c:spPr><c:invertIfNegative val="0"/>${points}`;
  return (
    `<c:ser><c:idx val="${column - 1}"/><c:order val="${column - 1}"/>` +
    `<c:tx>${stringsXml(rangeReference(range, column, 0, 0), [series.name])}</c:tx>${shape}${small ? lastValueLabel(series, locale) : ''}` +
    `<c:cat>${stringsXml(rangeReference(range, 0, 1, last), chart.categories)}</c:cat>` +
    `<c:val><c:numRef><c:f>${rangeReference(range, column, 1, last)}</c:f><c:numCache><c:formatCode>${escapeXml(quantityNumberFormat(series.quantity))}</c:formatCode>${pointsXml(plottedValues(series))}</c:numCache></c:numRef></c:val>` +
    `${asLine ? '<c:smooth val="0"/>' : ''}</c:ser>`
  );
}

function groupXml(
  chart: Chart,
  range: ChartRange,
  placed: readonly SeriesColumn[],
  asLine: boolean,
  ids: readonly number[],
  locale: string,
): string {
  const series = placed.map((each) => seriesXml(chart, range, each, asLine, locale)).join('');
  const axes = ids.map((id) => `<c:axId val="${id}"/>`).join('');
  if (asLine) {
    return `<c:lineChart><c:grouping val="standard"/><c:varyColors val="0"/>${series}<c:marker val="1"/>${axes}</c:lineChart>`;
  }
  const stacked = chart.kind === 'stacked_column';
  return (
    `<c:barChart><c:barDir val="${chart.kind === 'bar' ? 'bar' : 'col'}"/><c:grouping val="${stacked ? 'stacked' : 'clustered'}"/>` +
    `<c:varyColors val="0"/>${series}<c:gapWidth val="60"/>${stacked ? '<c:overlap val="100"/>' : ''}${axes}</c:barChart>`
  );
}

interface AxisColumns {
  readonly axis: Axis;
  readonly placed: readonly SeriesColumn[];
  readonly ids: readonly [number, number];
}

/** Assigns each series its column on the data sheet, in the order of the axes. */
function assignColumns(chart: Chart): AxisColumns[] {
  let column = 0;
  return chart.axes.map((axis, index) => ({
    axis,
    ids: [index * 2 + 1, index * 2 + 2],
    placed: axis.series.map((series) => {
      column += 1;
      return { series, column };
    }),
  }));
}

/** Leaves space for the last value on the right of a sparkline, and for two lines of its name above. */
const SPARKLINE_LAYOUT =
  '<c:manualLayout><c:layoutTarget val="inner"/><c:xMode val="edge"/><c:yMode val="edge"/><c:x val="0.04"/><c:y val="0.36"/><c:w val="0.7"/><c:h val="0.52"/></c:manualLayout>';

/** A longer name would cover its chart. The table and the alternative text show it in full. */
const MAX_SMALL_TITLE = 40;

/** The native charts of a `sparkline`, one per axis. */
export function sparklineCharts(
  chart: Chart,
  range: ChartRange,
  locale: string,
): { readonly axis: Axis; readonly xml: string }[] {
  const names = truncateLabels(
    chart.axes.map(({ title, series }) => series.find(({ previous }) => !previous)?.name ?? title),
    MAX_SMALL_TITLE,
  );
  return assignColumns(chart).map(({ axis, placed, ids }, index) => {
    const positive = axis.series.flatMap(({ values }) => values).every((value) => value === null || value >= 0);
    // The last value is a number alone, because there is no axis that names the unit.
    const unit = unitLabel(axis.quantity, messagesFor(locale));
    const title = `${names[index]}${unit === undefined ? '' : ` (${unit})`}`;
    const plot = groupXml(chart, range, placed, true, ids, locale) + hiddenAxes(ids, positive);
    return { axis, xml: chartSpace({ text: title, size: TEXT_SIZE }, plot, false, locale, SPARKLINE_LAYOUT) };
  });
}

/**
 * A native chart (DrawingML, ECMA-376 part 1 §21.2) for cells of a sheet, with a cached copy of their values.
 * @param titled false if the sheet has the title just above
 */
export function chartXml(chart: Chart, range: ChartRange, locale: string, titled: boolean): string {
  const units = chart.axes.map(({ quantity }) => 1 / cellUnit(quantity));
  const scales = axisScales(chart, units);
  const axes = assignColumns(chart).map(({ axis, placed, ids }, index) => {
    const second = index > 0;
    const figures = { axis, id: ids[1], crosses: ids[0], second, scale: scales[index] };
    // The second unit is drawn as a line over the columns of the first.
    const asLine = chart.kind === 'line' || second;
    return {
      group: groupXml(chart, range, placed, asLine, ids, locale),
      axis: categoryAxis(chart, ids[0], ids[1], second) + valueAxis(chart, figures),
    };
  });
  const plot = axes.map(({ group }) => group).join('') + axes.map(({ axis }) => axis).join('');
  return chartSpace(
    titled ? { text: chart.title, size: 1300 } : undefined,
    plot,
    chart.axes.flatMap(({ series }) => series).length > 1,
    locale,
  );
}
