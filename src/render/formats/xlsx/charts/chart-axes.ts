import type { Scale } from '../../../charts/axis-scale.ts';
import type { Axis, Chart } from '../../../charts/chart.ts';
import { createRounder, type Quantity } from '../../../figures/quantity.ts';
import { escapeXml } from '../package/xml-text.ts';
import { toCellValue } from '../sections/grid/cell-value.ts';
import { quantityNumberFormat } from '../style/number-formats.ts';
import { COLOURS } from '../style/styles.ts';
import { lineXml, smallText, TEXT_SIZE, titleXml } from './chart-elements.ts';

/** Cell units per raw unit. Cells hold durations in the unit in which they are shown. */
export const cellUnit = (quantity: Quantity): number => Number(toCellValue(1, quantity));

const AXIS_LINE = `<c:spPr>${lineXml(COLOURS.rule.slice(2), 9525)}</c:spPr>`;

export function categoryAxis(chart: Chart, id: number, crosses: number, hidden: boolean): string {
  const bar = chart.kind === 'bar';
  return (
    `<c:catAx><c:axId val="${id}"/><c:scaling><c:orientation val="${bar ? 'maxMin' : 'minMax'}"/></c:scaling><c:delete val="${hidden ? 1 : 0}"/>` +
    `<c:axPos val="${bar ? 'l' : 'b'}"/>${hidden ? '' : titleXml(chart.categoryTitle, TEXT_SIZE, false)}<c:numFmt formatCode="General" sourceLinked="0"/>` +
    `<c:majorTickMark val="none"/><c:minorTickMark val="none"/><c:tickLblPos val="low"/>${AXIS_LINE}${smallText}` +
    `<c:crossAx val="${crosses}"/><c:crosses val="autoZero"/><c:auto val="0"/><c:lblAlgn val="ctr"/><c:lblOffset val="100"/>${bar ? '<c:tickLblSkip val="1"/>' : ''}<c:noMultiLvlLbl val="1"/></c:catAx>`
  );
}

/** The most grid lines that Excel chooses by itself. */
const MAX_GRID_LINES = 20;
/** Counts up to this one get a grid line each. */
const MAX_SINGLE_STEPS = 5;

/**
 * The number format of an axis, with enough decimals that only zero is labelled zero.
 * @param step distance between grid lines, or less; in cell units
 */
export function axisFormat(quantity: Quantity, step: number): string {
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
  /** Absent: Excel chooses one. */
  readonly scale: Scale | undefined;
}

export function valueAxis(chart: Chart, { axis, id, crosses, second, scale }: ValueAxis): string {
  const position = chart.kind === 'bar' ? 'b' : second ? 'r' : 'l';
  const grid = second ? '' : `<c:majorGridlines><c:spPr>${lineXml('E3E8EE', 6350)}</c:spPr></c:majorGridlines>`;
  // An axis that does not start at zero exaggerates changes, and the axis of shares must not reach 120 %.
  const values = axis.series.flatMap((series) => series.values).filter((value) => value !== null);
  const whole = axis.quantity.kind === 'ratio' && values.every((value) => value >= 0 && value <= 1);
  const positive = values.every((value) => value >= 0);
  const max = scale?.max ?? (whole ? 1 : undefined);
  const min = scale?.min ?? (positive ? 0 : undefined);
  const bounds = `${max === undefined ? '' : `<c:max val="${max}"/>`}${min === undefined ? '' : `<c:min val="${min}"/>`}`;
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  // For small counts Excel would draw lines at halves, and label one of them 0.
  const few = axis.quantity.kind === 'count' && largest <= MAX_SINGLE_STEPS && chart.kind !== 'stacked_column';
  const step = scale?.interval ?? (few ? 1 : undefined);
  const lines = step === undefined ? '' : `<c:majorUnit val="${step}"/>`;
  const format = axisFormat(
    axis.quantity,
    scale?.interval ?? ((max ?? largest) * cellUnit(axis.quantity)) / MAX_GRID_LINES,
  );
  return (
    `<c:valAx><c:axId val="${id}"/><c:scaling><c:orientation val="minMax"/>${bounds}</c:scaling><c:delete val="0"/><c:axPos val="${position}"/>${grid}` +
    `${titleXml(axis.title, TEXT_SIZE, false)}<c:numFmt formatCode="${escapeXml(format)}" sourceLinked="0"/>` +
    `<c:majorTickMark val="none"/><c:minorTickMark val="none"/><c:tickLblPos val="nextTo"/><c:spPr><a:ln><a:noFill/></a:ln></c:spPr>${smallText}` +
    `<c:crossAx val="${crosses}"/><c:crosses val="${second || chart.kind === 'bar' ? 'max' : 'autoZero'}"/><c:crossBetween val="between"/>${lines}</c:valAx>`
  );
}

/** The axes of a sparkline: the format requires them, but they are invisible. They start at zero like all others. */
export const hiddenAxes = (ids: readonly [number, number], positive: boolean): string =>
  `<c:catAx><c:axId val="${ids[0]}"/><c:scaling><c:orientation val="minMax"/></c:scaling><c:delete val="1"/><c:axPos val="b"/><c:crossAx val="${ids[1]}"/></c:catAx>` +
  `<c:valAx><c:axId val="${ids[1]}"/><c:scaling><c:orientation val="minMax"/>${positive ? '<c:min val="0"/>' : ''}</c:scaling><c:delete val="1"/><c:axPos val="l"/><c:crossAx val="${ids[0]}"/></c:valAx>`;
