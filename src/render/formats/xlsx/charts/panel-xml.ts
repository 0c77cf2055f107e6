import { isDrawnAsLine, lineScale } from '../../../charts/axis-scale.ts';
import { SERIES_COLOURS } from '../../../charts/chart.ts';
import { judgedDecimals } from '../../../figures/format-value.ts';
import { createRounder, type Quantity } from '../../../figures/quantity.ts';
import { escapeXml } from '../package/xml-text.ts';
import { figureNumberFormat, quantityNumberFormat } from '../style/number-formats.ts';
import { COLOURS } from '../style/styles.ts';
import { axisFormat, cellUnit } from './chart-axes.ts';
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
import { hollowPoint, plottedValues } from './chart-xml.ts';

/**
 * One of the small charts of a trend: columns, or a line for a rate, with a dashed line at the target and thin lines at
 * the ends of the usual range.
 */
export interface Panel {
  readonly title: string;
  readonly quantity: Quantity;
  readonly categories: readonly string[];
  readonly values: readonly (number | null)[];
  /** Buckets that are cut off or have not ended. They are hatched. */
  readonly partial: readonly boolean[];
  /** One entry per value; null if no target applies. */
  readonly target: readonly (number | null)[] | undefined;
  /** The ends of the usual range, one entry per value; empty if there is no range. */
  readonly band: readonly (readonly (number | null)[])[];
  /**
   * The column of its values on the data sheet, counted from 0. Its target and the ends of the range are in the next
   * columns.
   */
  readonly column: number;
}

const COLOUR = SERIES_COLOURS[0];
const TARGET_COLOUR = SERIES_COLOURS[1];
const BAND_COLOUR = SERIES_COLOURS[7];
/** The most category labels below a small chart. */
const MAX_LABELS = 4;
/** The most grid lines that Excel chooses for a small chart. */
const MAX_GRID_LINES = 8;

/** Labels the last figure. The others can be read from the axis. */
function lastLabel({ values, target, quantity }: Panel, locale: string): string {
  const last = values.findLastIndex((value) => value !== null);
  const value = values[last] ?? null;
  if (value === null) return '';
  const shown = (on: boolean) =>
    `<c:showLegendKey val="0"/><c:showVal val="${on ? 1 : 0}"/><c:showCatName val="0"/><c:showSerName val="0"/><c:showPercent val="0"/><c:showBubbleSize val="0"/>`;
  const limit = target?.[last] ?? null;
  const decimals = limit === null ? undefined : judgedDecimals(value, { target: limit }, quantity);
  const rounding = decimals === undefined ? createRounder(quantity)(value) : { decimals };
  const code = figureNumberFormat(quantity, rounding, locale);
  return `<c:dLbls><c:dLbl><c:idx val="${last}"/><c:numFmt formatCode="${escapeXml(code)}" sourceLinked="0"/><c:spPr><a:noFill/></c:spPr>${smallText}<c:dLblPos val="${isDrawnAsLine(quantity) ? 't' : 'outEnd'}"/>${shown(true)}</c:dLbl>${shown(false)}</c:dLbls>`;
}

const valuesXml = (range: ChartRange, column: number, values: readonly (number | null)[], quantity: Quantity): string =>
  `<c:val><c:numRef><c:f>${rangeReference(range, column, 1, values.length)}</c:f><c:numCache><c:formatCode>${escapeXml(quantityNumberFormat(quantity))}</c:formatCode>${pointsXml(plottedValues({ values, quantity }))}</c:numCache></c:numRef></c:val>`;

/** Removes floating-point noise. */
const exact = (value: number): number => Number(value.toPrecision(12));

/** The number of buckets per label, so that the last bucket has a label if a divisor fits. */
function labelStep(count: number): number {
  const least = Math.max(1, Math.ceil((count - 1) / MAX_LABELS));
  for (let step = least; step <= least + 2; step += 1) if ((count - 1) % step === 0) return step;
  return least;
}

/** The chart part of a panel, with a cached copy of its cells. */
export function panelXml(panel: Panel, range: ChartRange, locale: string): string {
  const { title, quantity, categories, values, partial, target, band, column } = panel;
  const name = (of: number, text: string) => `<c:tx>${stringsXml(rangeReference(range, of, 0, 0), [text])}</c:tx>`;
  const category = `<c:cat>${stringsXml(rangeReference(range, 0, 1, categories.length), categories)}</c:cat>`;
  const asLine = isDrawnAsLine(quantity);
  const unfinished = partial.flatMap((each, index) => (each && values[index] != null ? [index] : []));
  const points = unfinished
    .map((index) => (asLine ? hollowPoint(index, 'circle', COLOUR) : hatchedPoint(index, COLOUR)))
    .join('');
  const fill = `<a:solidFill><a:srgbClr val="${COLOUR}"/></a:solidFill>`;
  const shape = asLine
    ? `<c:spPr>${lineXml(COLOUR, 22_225)}</c:spPr><c:marker><c:symbol val="circle"/><c:size val="4"/><c:spPr>${fill}<a:ln><a:noFill/></a:ln></c:spPr></c:marker>`
    : `<c:spPr>${fill}</c:spPr><c:invertIfNegative val="0"/>`;
  const figures =
    `<c:ser><c:idx val="0"/><c:order val="0"/>${name(column, title)}${shape}` +
    `${points}${lastLabel(panel, locale)}${category}${valuesXml(range, column, values, quantity)}${asLine ? '<c:smooth val="0"/>' : ''}</c:ser>`;
  const columns = asLine
    ? ''
    : `<c:barChart><c:barDir val="col"/><c:grouping val="clustered"/><c:varyColors val="0"/>${figures}<c:gapWidth val="40"/><c:axId val="1"/><c:axId val="2"/></c:barChart>`;
  const lines = [
    ...(target === undefined
      ? []
      : [{ of: target, style: lineXml(TARGET_COLOUR, 19_050, '<a:prstDash val="dash"/>') }]),
    ...band.map((of) => ({ of, style: lineXml(BAND_COLOUR, 9525) })),
  ].map(({ of, style }, index) => {
    const nth = index + 1;
    return (
      `<c:ser><c:idx val="${nth}"/><c:order val="${nth}"/>${name(column + nth, title)}<c:spPr>${style}</c:spPr><c:marker><c:symbol val="none"/></c:marker>` +
      `${category}${valuesXml(range, column + nth, of, quantity)}<c:smooth val="0"/></c:ser>`
    );
  });
  const inLines = (asLine ? figures : '') + lines.join('');
  const line =
    inLines === ''
      ? ''
      : `<c:lineChart><c:grouping val="standard"/><c:varyColors val="0"/>${inLines}<c:marker val="1"/><c:axId val="1"/><c:axId val="2"/></c:lineChart>`;
  const drawn = [...values, ...(target ?? []), ...band.flat()].filter((value) => value !== null);
  const largest = drawn.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const positive = drawn.every((value) => value >= 0);
  // A line may begin above zero, but a column never does.
  const scale = asLine ? lineScale(drawn, quantity) : undefined;
  const bounds =
    scale === undefined
      ? positive
        ? '<c:min val="0"/>'
        : ''
      : `<c:max val="${exact(scale.max)}"/><c:min val="${exact(scale.min)}"/>`;
  const format = axisFormat(quantity, scale?.interval ?? (largest * cellUnit(quantity)) / MAX_GRID_LINES);
  const step = labelStep(categories.length);
  const axes =
    '<c:catAx><c:axId val="1"/><c:scaling><c:orientation val="minMax"/></c:scaling><c:delete val="0"/><c:axPos val="b"/><c:numFmt formatCode="General" sourceLinked="0"/>' +
    `<c:majorTickMark val="none"/><c:minorTickMark val="none"/><c:tickLblPos val="low"/><c:spPr>${lineXml(COLOURS.rule.slice(2), 9525)}</c:spPr>${smallText}` +
    `<c:crossAx val="2"/><c:crosses val="autoZero"/><c:auto val="0"/><c:lblAlgn val="ctr"/><c:lblOffset val="100"/><c:tickLblSkip val="${step}"/><c:noMultiLvlLbl val="1"/></c:catAx>` +
    `<c:valAx><c:axId val="2"/><c:scaling><c:orientation val="minMax"/>${bounds}</c:scaling><c:delete val="0"/><c:axPos val="l"/>` +
    `<c:majorGridlines><c:spPr>${lineXml('E3E8EE', 6350)}</c:spPr></c:majorGridlines><c:numFmt formatCode="${escapeXml(format)}" sourceLinked="0"/>` +
    `<c:majorTickMark val="none"/><c:minorTickMark val="none"/><c:tickLblPos val="nextTo"/><c:spPr><a:ln><a:noFill/></a:ln></c:spPr>${smallText}` +
    `<c:crossAx val="1"/><c:crosses val="autoZero"/><c:crossBetween val="between"/>${scale === undefined ? '' : `<c:majorUnit val="${exact(scale.interval)}"/>`}</c:valAx>`;
  return chartSpace({ text: title, size: TEXT_SIZE }, columns + line + axes, false, locale);
}
