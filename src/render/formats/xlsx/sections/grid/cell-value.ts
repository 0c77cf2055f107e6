import type { Value } from '../../../../../fetch/dataset.ts';
import type { ViewColumn } from '../../../../figures/columns.ts';
import { UNDEFINED_TEXT } from '../../../../figures/format-value.ts';
import {
  createRounder,
  parseCivilDate,
  parseIsoInstant,
  type Quantity,
  type Rounding,
  rawPerShown,
} from '../../../../figures/quantity.ts';
import { MOST_GROWTH } from '../../../../figures/shown-change.ts';
import type { Cell } from '../../package/sheet-rows.ts';
import type { createDataStyles, DataStyle } from '../../style/data-styles.ts';
import type { CellStyle } from '../../style/styles.ts';

/** Excel's dates start in 1900, which it treats as a leap year. Dates before 1 March 1900 stay texts. */
const FIRST_DATE = Date.UTC(1900, 2, 1);

/**
 * Converts a raw value for a cell: durations to the unit in which they are shown, dates to `Date`, an undefined value
 * to a dash.
 */
export function toCellValue(value: Value, quantity: Quantity): Cell['value'] {
  if (value === null) return UNDEFINED_TEXT;
  if (typeof value === 'number') {
    if (quantity.kind === 'text') return String(value);
    return value / rawPerShown(quantity);
  }
  const isDay = quantity.kind === 'bucket' || quantity.kind === 'day';
  const date = isDay ? parseCivilDate(value) : quantity.kind === 'instant' ? parseIsoInstant(value) : undefined;
  return date === undefined || date.getTime() < FIRST_DATE ? value : date;
}

/** Whether texts show a change as a multiple (`1,333 times as many`). The cell still holds the exact change. */
export const isLargeGrowth = (value: Value, { kind }: Quantity): value is number =>
  kind === 'relative' && typeof value === 'number' && value > MOST_GROWTH;

export const isSecondary = (column: ViewColumn): boolean => column.role === 'previous' || column.role === 'change';

export type StyleOf = ReturnType<typeof createDataStyles>;
export type FigureStyle = Pick<DataStyle, 'partial' | 'total' | 'unitInCell'>;

/** Creates the cells of one column. It caches styles, because a large table has many cells but few styles. */
export function cellFactory(column: ViewColumn, options: FigureStyle, styleOf: StyleOf): (value: Value) => Cell {
  const style = { quantity: column.quantity, secondary: isSecondary(column), ...options };
  const dash = { value: UNDEFINED_TEXT, style: styleOf(style, true) };
  const usual = styleOf(style, false);
  const roundingOf = createRounder(column.quantity);
  const rounded = new Map<Rounding, CellStyle>();
  let last: { readonly rounding: Rounding; readonly style: CellStyle } | undefined;
  const styleFor = (rounding: Rounding): CellStyle => {
    if (last?.rounding === rounding) return last.style;
    const known = rounded.get(rounding) ?? styleOf({ ...style, rounding }, false);
    rounded.set(rounding, known);
    last = { rounding, style: known };
    return known;
  };
  return (value) => {
    if (value === null) return dash;
    const shown = isLargeGrowth(value, column.quantity)
      ? styleOf({ ...style, largeGrowth: true }, false)
      : typeof value === 'number'
        ? styleFor(roundingOf(value))
        : usual;
    return { value: toCellValue(value, column.quantity), style: shown };
  };
}

export const figureCell = (value: Value, column: ViewColumn, more: FigureStyle, styleOf: StyleOf): Cell =>
  cellFactory(column, more, styleOf)(value);
