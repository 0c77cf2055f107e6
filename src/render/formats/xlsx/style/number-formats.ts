import type { Words } from '../../../../i18n/messages.ts';
import { withArrow } from '../../../figures/change-text.ts';
import { figureFormatter } from '../../../figures/format-value.ts';
import {
  createRounder,
  defaultDecimals,
  type Quantity,
  type Rounding,
  rawPerShown,
} from '../../../figures/quantity.ts';

const decimalPlaces = (decimals: number): string => (decimals === 0 ? '' : `.${'0'.repeat(decimals)}`);

/**
 * Excel's number format for figures of a quantity. Changes have an arrow and a sign, so that they do not depend on
 * colour.
 * @param decimals the figure's, from `createRounder`; default: the quantity's
 */
export function quantityNumberFormat(quantity: Quantity, decimals: number = defaultDecimals(quantity)): string {
  const places = decimalPlaces(decimals);
  switch (quantity.kind) {
    case 'ratio':
      return `0${places}%`;
    case 'points':
      return `"▲ "+0${places};"▼ "-0${places};"= "0${places}`;
    case 'relative':
      return `"▲ "+0${places}%;"▼ "-0${places}%;"= "0${places}%`;
    case 'difference':
      return `"▲ "+#,##0${places};"▼ "-#,##0${places};"= "0`;
    case 'count':
    case 'amount':
    case 'duration':
      return `#,##0${places}`;
    case 'bucket':
      return quantity.granularity === 'month' ? 'mmm yyyy' : 'ddd d mmm yyyy';
    case 'day':
      return 'd mmm yyyy';
    case 'instant':
      return 'yyyy-mm-dd hh:mm:ss';
    case 'identifier':
      return '0';
    case 'text':
      return '@';
  }
}

/** The format of an increase above 1,000 %: without decimals. */
export const LARGE_GROWTH_FORMAT = '"▲ +"#,##0%';

/**
 * The number format of one figure, with the decimals to which it is rounded. A bound becomes a literal text that the
 * cell shows instead of its number.
 * @param locale BCP 47, for the bound; Excel formats figures by its own locale
 */
export function figureNumberFormat(quantity: Quantity, { decimals, bound }: Rounding, locale: string): string {
  if (bound === undefined) return quantityNumberFormat(quantity, decimals);
  const change = quantity.kind === 'points' || quantity.kind === 'relative' || quantity.kind === 'difference';
  const shown = `${bound.is}${figureFormatter(quantity, locale)(bound.value)}`;
  // One format section per sign: with a single one, Excel would add a minus sign.
  const text = `"${change ? withArrow(bound.value < 0 ? 'down' : 'up', shown) : shown}"`;
  return `${text};${text}`;
}

/**
 * The format of a change that is shown as a difference of figures of this quantity. For a duration, the cell names the
 * unit.
 */
export function differenceNumberFormat(quantity: Quantity, difference: number, { table }: Words): string {
  const shown: Quantity = { kind: 'difference', unit: null, decimals: 0 };
  const { decimals } = createRounder(quantity)(difference * rawPerShown(quantity));
  const format = quantityNumberFormat(shown, decimals);
  return quantity.kind === 'duration' ? withSuffix(format, table.durations[quantity.scale]) : format;
}

/** Adds a text after the figure, whatever its sign. */
export const withSuffix = (format: string, suffix: string): string =>
  format
    .split(';')
    .map((part) => `${part}" ${suffix}"`)
    .join(';');

/** The text that `withSuffix` added; empty if it added none. */
export const findSuffix = (format: string | undefined): string => /" (\(n [^"]*\))"/.exec(format ?? '')?.[0] ?? '';

/** Adds the unit of a change to the cell, for columns whose header cannot name it. */
export const withUnit = (format: string, quantity: Quantity, { table }: Words): string =>
  quantity.kind === 'points' ? withSuffix(format, table.points) : format;
