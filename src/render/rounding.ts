import type { Quantity } from './format.ts';

const DAY_SECONDS = 86_400;

/** Decimals of any figure, at most: what is still closer to zero, or to 100 %, is shown as a bound. */
export const MAX_DECIMALS = 6;
/** Excel has no smaller part of a second than this in `[h]:mm:ss.000`. */
const MAX_CLOCK_DECIMALS = 3;
/** Of a count that is no integer: the service has none, but nobody must take its half for a whole. */
const MAX_COUNT_DECIMALS = 2;

/** How one figure is rounded for readers. */
export interface Rounding {
  readonly decimals: number;
  /** Told in place of the figure, which is less or more than this; in the unit of the raw value. */
  readonly bound?: { readonly is: '<' | '>'; readonly value: number };
}

/** How the figures of a quantity are shown. */
interface Face {
  /** What one raw unit is in the unit that is shown: a ratio of 1 is 100 %. */
  readonly factor: number;
  readonly decimals: number;
  readonly most: number;
  /** Raw magnitudes that no other figure may be rounded to. */
  readonly landmarks: readonly number[];
  /** Of the last decimal: a figure that is closer than this to a landmark would be rounded to it. */
  readonly reach: number;
}

// A tie is rounded differently from program to program, hence a little more than half.
const ROUNDED = { most: MAX_DECIMALS, reach: 0.500_001 };
const WHOLE = 0.999_999;

function faceOf(quantity: Quantity): Face | undefined {
  switch (quantity.kind) {
    case 'ratio':
    case 'relative':
      return { ...ROUNDED, factor: 100, decimals: 1, landmarks: [0, 1] };
    case 'points':
      return { ...ROUNDED, factor: 1, decimals: 1, landmarks: [0, 100] };
    case 'count':
      return { ...ROUNDED, factor: 1, decimals: 0, landmarks: [0] };
    case 'amount':
    case 'difference':
      return { ...ROUNDED, factor: 1, decimals: quantity.decimals, landmarks: [0] };
    case 'duration':
      if (quantity.scale === 'days') return { ...ROUNDED, factor: 1 / DAY_SECONDS, decimals: 1, landmarks: [0] };
      if (quantity.scale === 'seconds') return { ...ROUNDED, factor: 1, decimals: MAX_DECIMALS, landmarks: [0] };
      // LibreOffice cuts a time where Excel rounds it.
      return { factor: 1, decimals: 0, most: MAX_CLOCK_DECIMALS, landmarks: [0], reach: 1.000_001 };
    default:
      return undefined;
  }
}

/** Decimals of a quantity's figures where none needs more. */
export const usualDecimals = (quantity: Quantity): number => faceOf(quantity)?.decimals ?? 0;

const PLAIN: Rounding = { decimals: 0 };

/**
 * How the figures of one quantity are rounded, in the workbook, the mail, the CSV and the charts alike: as usual, and with
 * more decimals where a figure would otherwise be shown as zero, or as 100 %, without being it. Made once for a column;
 * equal roundings are one object.
 */
export function rounder(quantity: Quantity): (value: number) => Rounding {
  const face = faceOf(quantity);
  if (face === undefined) return () => PLAIN;
  const { factor, decimals: usual, most, landmarks, reach } = face;
  const made = new Map<string, Rounding>();
  const known = (key: string, make: () => Rounding): Rounding => {
    const rounding = made.get(key) ?? make();
    made.set(key, rounding);
    return rounding;
  };
  const plain = known(`${usual}`, () => ({ decimals: usual }));
  // Further away than this from all landmarks nothing needs more decimals.
  const near = (reach * 10 ** -usual) / factor;
  const closer = (value: number, landmark: number, gap: number): Rounding => {
    let decimals = usual;
    // With more decimals than usual its first digit is shown for what it is: 0.006 %, not 0.01 %.
    while (
      decimals <= most &&
      gap * factor <= (decimals === usual ? reach : Math.max(reach, WHOLE)) * 10 ** -decimals
    ) {
      decimals += 1;
    }
    if (decimals <= most) return known(`${decimals}`, () => ({ decimals }));
    const sign = value < 0 ? -1 : 1;
    const beyond = Math.abs(value) > landmark;
    const is = beyond === sign > 0 ? '<' : '>';
    const bound = sign * (landmark + (beyond ? 1 : -1) * (10 ** -most / factor));
    return known(`${is}${bound}`, () => ({ decimals: most, bound: { is, value: bound } }));
  };
  const isCount = quantity.kind === 'count';
  const [zero = 0, whole = zero] = landmarks;
  // Of most figures this is all: two comparisons, because a large table has millions of them.
  return (value) => {
    const size = Math.abs(value);
    if (isCount && !Number.isInteger(value) && size > reach) {
      const decimals = decimalsOf([value], 0, MAX_COUNT_DECIMALS);
      return known(`${decimals}`, () => ({ decimals }));
    }
    const toZero = Math.abs(size - zero);
    if (toZero <= near && toZero > 0) return closer(value, zero, toZero);
    const toWhole = Math.abs(size - whole);
    return toWhole <= near && toWhole > 0 ? closer(value, whole, toWhole) : plain;
  };
}

/** How many decimals show every one of `values` in full; at least `atLeast`, at most `most`. */
export function decimalsOf(values: readonly number[], atLeast = 0, most = MAX_DECIMALS): number {
  return values.reduce((sofar, value) => {
    let decimals = sofar;
    while (decimals < most && Number(value.toFixed(decimals)) !== value) decimals += 1;
    return decimals;
  }, atLeast);
}
