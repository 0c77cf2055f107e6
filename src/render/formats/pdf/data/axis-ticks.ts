import { intlNumberFormat } from '../../../../base/text/intl.ts';
import type { Scale } from '../../../charts/axis-scale.ts';
import type { Quantity } from '../../../figures/quantity.ts';

/** A grid line: its position from 0 (the lower end of the axis) to 1, and its label. */
export interface Tick {
  readonly at: number;
  readonly text: string;
}

/** Enough for round figures, few enough to hide floating-point noise. */
const AXIS_DIGITS = 12;

/** The position of a value on the scale, from 0 to 1. */
export const positionOn = ({ min, max }: Scale, value: number): number => (value - min) / (max - min || 1);

/** The grid lines of a scale, in units of the drawing (hours, not seconds). */
export function buildTicks(scale: Scale, quantity: Quantity, locale: string): readonly Tick[] {
  const format = intlNumberFormat(locale, {
    ...(quantity.kind === 'ratio' ? { style: 'percent' as const } : {}),
    maximumSignificantDigits: AXIS_DIGITS,
  });
  const count = Math.min(20, Math.round((scale.max - scale.min) / scale.interval));
  return Array.from({ length: count + 1 }, (_, index) => {
    const value = scale.min + index * scale.interval;
    // -0 would be written with its sign.
    return {
      at: positionOn(scale, value),
      text: format.format(value === 0 ? 0 : Number(value.toPrecision(AXIS_DIGITS))),
    };
  });
}
