import { intlNumberFormat } from '../../../../base/text/intl.ts';
import type { Scale } from '../../../charts/axis-scale.ts';
import type { Quantity } from '../../../figures/quantity.ts';

/** A grid line: its position from 0 (the axis' lower end) to 1, and its label. */
export interface Tick {
  readonly at: number;
  readonly text: string;
}

/** Allowed intervals, times a power of ten. */
const ROUND_STEPS = [1, 2, 2.5, 5, 10];
const INTERVALS = 4;
/** Enough for round figures, few enough to hide floating-point noise. */
const AXIS_DIGITS = 12;

function roundStep(size: number, integer: boolean): number {
  if (!Number.isFinite(size) || size <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(size));
  const steps = ROUND_STEPS.map((each) => each * power);
  return steps.find((each) => each >= size * 0.999 && (!integer || Number.isInteger(each))) ?? Math.ceil(size);
}

/** A scale that has zero and all values in it, with about four round intervals. */
export function zeroBasedScale(values: readonly number[], quantity: Quantity): Scale {
  const finite = values.filter(Number.isFinite);
  const low = Math.min(0, ...finite);
  const high = Math.max(0, ...finite);
  const interval = roundStep((high - low) / INTERVALS, quantity.kind === 'count');
  const min = Math.floor(low / interval + 1e-9) * interval;
  const max = Math.ceil(high / interval - 1e-9) * interval;
  return { min, max: max === min ? min + interval : max, interval };
}

/** A scale for lines: where its figures are all far from zero, it begins above it, so that a rate of 86 to 91 % has 80 to 95 %. */
export function lineScale(values: readonly number[], quantity: Quantity): Scale {
  const finite = values.filter(Number.isFinite);
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  if (finite.length === 0 || low < high / 2) return zeroBasedScale(values, quantity);
  const spread = Math.max(high - low, high / 50);
  const interval = roundStep(spread, false);
  const min = Math.floor((low - 0.75 * spread) / interval + 1e-9) * interval;
  const max = Math.ceil(high / interval - 1e-9) * interval;
  return min <= 0 ? zeroBasedScale(values, quantity) : { min, max, interval };
}

/** From 0 to 1 on the scale. */
export const positionOn = ({ min, max }: Scale, value: number): number => (value - min) / (max - min || 1);

/** The grid lines of a scale, in units of the drawing (hours, not seconds). */
export function ticksOf(scale: Scale, quantity: Quantity, locale: string): readonly Tick[] {
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
