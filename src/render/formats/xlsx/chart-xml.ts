import { messagesFor } from '../../../i18n/messages.ts';
import { alignedScales, type Scale } from '../../charts/axis-scale.ts';
import { type Axis, type Chart, PREVIOUS_PERIOD_COLOUR, SERIES_COLOURS } from '../../charts/chart.ts';
import type { Series } from '../../charts/chart-data.ts';
import { unitLabel } from '../../figures/format-value.ts';
import type { Quantity } from '../../figures/quantity.ts';
import { createRounder } from '../../figures/quantity.ts';
import { toCellValue } from './grid.ts';
import { columnLetters, escapeXml, XML_DECLARATION } from './sheet-parts.ts';
import { COLOURS, figureNumberFormat, quantityNumberFormat } from './style.ts';

/** The cells of a chart's data: categories in the first column, one series per further column, names in the first row. */
export interface ChartRange {
  readonly sheet: string;
  /** The row of the names, counted from 1. */
  readonly row: number;
}

const MARKERS = ['circle', 'square', 'triangle', 'diamond', 'x', 'star', 'plus', 'dash'];
const TEXT_COLOUR = COLOURS.text.slice(2);

const rangeReference = (range: ChartRange, column: number, from: number, to: number): string => {
  const name = columnLetters(column);
  const start = `$${name}$${range.row + from}`;
  return escapeXml(`'${range.sheet}'!${from === to ? start : `${start}:$${name}$${range.row + to}`}`);
};

const pointsXml = (values: readonly (string | number | null)[]): string =>
  `<c:ptCount val="${values.length}"/>${values
    .map((value, index) => (value === null ? '' : `<c:pt idx="${index}"><c:v>${escapeXml(String(value))}</c:v></c:pt>`))
    .join('')}`;

const stringsXml = (formula: string, values: readonly string[]): string =>
  `<c:strRef><c:f>${formula}</c:f><c:strCache>${pointsXml(values)}</c:strCache></c:strRef>`;

const textProperties = (size: number, bold = false): string =>
  `<a:bodyPr/><a:lstStyle/><a:p><a:pPr><a:defRPr sz="${size}" b="${bold ? 1 : 0}"><a:solidFill><a:srgbClr val="${TEXT_COLOUR}"/></a:solidFill></a:defRPr></a:pPr>`;

const titleXml = (text: string, size: number, bold: boolean): string =>
  `<c:title><c:tx><c:rich>${textProperties(size, bold)}<a:r><a:rPr lang="en-GB" sz="${size}" b="${bold ? 1 : 0}"><a:solidFill><a:srgbClr val="${TEXT_COLOUR}"/></a:solidFill></a:rPr><a:t>${escapeXml(text)}</a:t></a:r></a:p></c:rich></c:tx><c:overlay val="0"/></c:title>`;

const smallText = `<c:txPr>${textProperties(900)}<a:endParaRPr lang="en-GB"/></a:p></c:txPr>`;
const lineXml = (colour: string, width: number, dash = ''): string =>
  `<a:ln w="${width}" cap="rnd"><a:solidFill><a:srgbClr val="${colour}"/></a:solidFill>${dash}<a:round/></a:ln>`;

/** The values as their cells hold them: the chart's cached copy must equal the cells. */
const plottedValues = (series: Series): (number | null)[] =>
  series.values.map((value) => {
    const cell = value === null ? null : toCellValue(value, series.quantity);
    return typeof cell === 'number' ? cell : null;
  });

/** Cell units per raw unit: cells hold durations in the unit they are shown in. */
const cellUnit = (quantity: Quantity): number => Number(toCellValue(1, quantity));

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
  const shape = asLine
    ? `<c:spPr>${lineXml(colour, small ? 19_050 : 28_575, series.previous ? '<a:prstDash val="dash"/>' : '')}</c:spPr>` +
      `<c:marker><c:symbol val="${bare ? 'none' : marker}"/>${bare ? '' : `<c:size val="6"/><c:spPr><a:solidFill><a:srgbClr val="${colour}"/></a:solidFill><a:ln><a:noFill/></a:ln></c:spPr>`}</c:marker>`
    : `<c:spPr><a:solidFill><a:srgbClr val="${colour}"/></a:solidFill></c:spPr><c:invertIfNegative val="0"/>`;
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

const AXIS_LINE = `<c:spPr>${lineXml(COLOURS.rule.slice(2), 9525)}</c:spPr>`;

function categoryAxis(chart: Chart, id: number, crosses: number, hidden: boolean): string {
  const bar = chart.kind === 'bar';
  return (
    `<c:catAx><c:axId val="${id}"/><c:scaling><c:orientation val="${bar ? 'maxMin' : 'minMax'}"/></c:scaling><c:delete val="${hidden ? 1 : 0}"/>` +
    `<c:axPos val="${bar ? 'l' : 'b'}"/>${hidden ? '' : titleXml(chart.categoryTitle, 900, false)}<c:numFmt formatCode="General" sourceLinked="0"/>` +
    `<c:majorTickMark val="none"/><c:minorTickMark val="none"/><c:tickLblPos val="low"/>${AXIS_LINE}${smallText}` +
    `<c:crossAx val="${crosses}"/><c:crosses val="autoZero"/><c:auto val="0"/><c:lblAlgn val="ctr"/><c:lblOffset val="100"/>${bar ? '<c:tickLblSkip val="1"/>' : ''}<c:noMultiLvlLbl val="1"/></c:catAx>`
  );
}

/** Maximum grid lines where Excel chooses them. */
const MAX_GRID_LINES = 20;
/** Counts up to this get a grid line each. */
const MAX_SINGLE_STEPS = 5;

/**
 * The number format of an axis, with enough decimals that no other grid line is labelled zero.
 * @param step between grid lines, or less; in cell units
 */
function axisFormat(quantity: Quantity, step: number): string {
  // Shares on an axis from 0 to 100 % need no decimals.
  if (quantity.kind === 'ratio' && (step === 0 || step >= 0.01)) return quantityNumberFormat(quantity, 0);
  if (step === 0 || quantity.kind === 'count') return quantityNumberFormat(quantity);
  return quantityNumberFormat(quantity, createRounder(quantity)(step / cellUnit(quantity)).decimals);
}

interface ValueAxis {
  readonly axis: Axis;
  readonly id: number;
  /** The id of the other axis. */
  readonly crosses: number;
  readonly second: boolean;
  /** Of two axes with negative figures; Excel chooses one when absent. */
  readonly scale: Scale | undefined;
}

function valueAxis(chart: Chart, { axis, id, crosses, second, scale }: ValueAxis): string {
  const position = chart.kind === 'bar' ? 'b' : second ? 'r' : 'l';
  const grid = second ? '' : `<c:majorGridlines><c:spPr>${lineXml('E3E8EE', 6350)}</c:spPr></c:majorGridlines>`;
  // An axis that does not start at zero exaggerates changes, and shares cannot reach 120 %.
  const values = axis.series.flatMap((series) => series.values).filter((value) => value !== null);
  const whole = axis.quantity.kind === 'ratio' && values.every((value) => value >= 0 && value <= 1);
  const positive = values.every((value) => value >= 0);
  const max = scale?.max ?? (whole ? 1 : undefined);
  const min = scale?.min ?? (positive ? 0 : undefined);
  const bounds = `${max === undefined ? '' : `<c:max val="${max}"/>`}${min === undefined ? '' : `<c:min val="${min}"/>`}`;
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  // For small counts Excel would draw lines at halves and label one of them 0.
  const few = axis.quantity.kind === 'count' && largest <= MAX_SINGLE_STEPS && chart.kind !== 'stacked_column';
  const step = scale?.interval ?? (few ? 1 : undefined);
  const lines = step === undefined ? '' : `<c:majorUnit val="${step}"/>`;
  const format = axisFormat(
    axis.quantity,
    scale?.interval ?? ((max ?? largest) * cellUnit(axis.quantity)) / MAX_GRID_LINES,
  );
  return (
    `<c:valAx><c:axId val="${id}"/><c:scaling><c:orientation val="minMax"/>${bounds}</c:scaling><c:delete val="0"/><c:axPos val="${position}"/>${grid}` +
    `${titleXml(axis.title, 900, false)}<c:numFmt formatCode="${escapeXml(format)}" sourceLinked="0"/>` +
    `<c:majorTickMark val="none"/><c:minorTickMark val="none"/><c:tickLblPos val="nextTo"/><c:spPr><a:ln><a:noFill/></a:ln></c:spPr>${smallText}` +
    `<c:crossAx val="${crosses}"/><c:crosses val="${second || chart.kind === 'bar' ? 'max' : 'autoZero'}"/><c:crossBetween val="between"/>${lines}</c:valAx>`
  );
}

/** A sparkline's axes: required by the format, but invisible. They start at zero like any other. */
const hiddenAxes = (ids: readonly [number, number], positive: boolean): string =>
  `<c:catAx><c:axId val="${ids[0]}"/><c:scaling><c:orientation val="minMax"/></c:scaling><c:delete val="1"/><c:axPos val="b"/><c:crossAx val="${ids[1]}"/></c:catAx>` +
  `<c:valAx><c:axId val="${ids[1]}"/><c:scaling><c:orientation val="minMax"/>${positive ? '<c:min val="0"/>' : ''}</c:scaling><c:delete val="1"/><c:axPos val="l"/><c:crossAx val="${ids[0]}"/></c:valAx>`;

/** The chart part around a plot. */
const chartSpace = (name: string, size: number, plot: string, legend: boolean, layout = ''): string =>
  XML_DECLARATION +
  '<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">' +
  `<c:roundedCorners val="0"/><c:chart>${titleXml(name, size, true)}<c:autoTitleDeleted val="0"/><c:plotArea><c:layout>${layout}</c:layout>${plot}</c:plotArea>` +
  `${legend ? `<c:legend><c:legendPos val="b"/><c:overlay val="0"/>${smallText}</c:legend>` : ''}` +
  '<c:plotVisOnly val="0"/><c:dispBlanksAs val="gap"/></c:chart>' +
  '<c:spPr><a:solidFill><a:srgbClr val="FFFFFF"/></a:solidFill><a:ln><a:noFill/></a:ln></c:spPr>' +
  `<c:txPr>${textProperties(1000)}<a:endParaRPr lang="en-GB"/></a:p></c:txPr></c:chartSpace>`;

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

/** Leaves space for the last value to the right of a sparkline, and for two lines of its name above. */
const SPARKLINE_LAYOUT =
  '<c:manualLayout><c:layoutTarget val="inner"/><c:xMode val="edge"/><c:yMode val="edge"/><c:x val="0.04"/><c:y val="0.36"/><c:w val="0.7"/><c:h val="0.52"/></c:manualLayout>';

/** The native charts of a `sparkline`, one per axis. */
export function sparklineCharts(
  chart: Chart,
  range: ChartRange,
  locale: string,
): { readonly axis: Axis; readonly xml: string }[] {
  return assignColumns(chart).map(({ axis, placed, ids }) => {
    const positive = axis.series.flatMap(({ values }) => values).every((value) => value === null || value >= 0);
    const name = axis.series.find(({ previous }) => !previous)?.name ?? axis.title;
    // Its last value is a number alone: there is no axis that names the unit.
    const unit = unitLabel(axis.quantity, messagesFor(locale));
    const title = unit === undefined ? name : `${name} (${unit})`;
    const plot = groupXml(chart, range, placed, true, ids, locale) + hiddenAxes(ids, positive);
    return { axis, xml: chartSpace(title, 900, plot, false, SPARKLINE_LAYOUT) };
  });
}

/** A native chart (DrawingML, ECMA-376 part 1 §21.2) over cells of a sheet, with a cached copy of their values. */
export function chartXml(chart: Chart, range: ChartRange, locale: string): string {
  const units = chart.axes.map(({ quantity }) => 1 / cellUnit(quantity));
  const scales = alignedScales(chart.axes, chart.kind === 'stacked_column', units);
  const axes = assignColumns(chart).map(({ axis, placed, ids }, index) => {
    const second = index > 0;
    const figures = { axis, id: ids[1], crosses: ids[0], second, scale: scales[index] };
    // The second unit is a line over the columns of the first.
    const asLine = chart.kind === 'line' || second;
    return {
      group: groupXml(chart, range, placed, asLine, ids, locale),
      axis: categoryAxis(chart, ids[0], ids[1], second) + valueAxis(chart, figures),
    };
  });
  const plot = axes.map(({ group }) => group).join('') + axes.map(({ axis }) => axis).join('');
  return chartSpace(chart.title, 1300, plot, chart.axes.flatMap(({ series }) => series).length > 1);
}
