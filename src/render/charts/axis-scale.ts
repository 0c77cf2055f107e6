import type { Axis } from './chart.ts';

/** The range of an axis and the interval of its grid lines. */
export interface Scale {
  readonly min: number;
  readonly max: number;
  readonly interval: number;
}

/** Allowed numbers of intervals, in order of preference. */
const INTERVAL_COUNTS = [4, 5, 6, 3];
/** Allowed intervals, times a power of ten. */
const ROUND_STEPS = [1, 2, 2.5, 5, 10];

/** The smallest allowed interval that is at least `size`. */
function roundStep(size: number, integer: boolean): number {
  if (size === 0) return 1;
  if (!Number.isFinite(size)) return size;
  const power = 10 ** Math.floor(Math.log10(size));
  const step = ROUND_STEPS.map((each) => each * power).find(
    (each) => each >= size && (!integer || Number.isInteger(each)),
  );
  return step ?? Math.ceil(size);
}

/** The lowest and the highest figure, zero included; for stacked series those of the stacks. */
function extentOf({ series }: Axis, stacked: boolean): { readonly low: number; readonly high: number } {
  let low = 0;
  let high = 0;
  for (let at = 0; at < (series[0]?.values.length ?? 0); at += 1) {
    const values = series.map((each) => each.values[at] ?? 0);
    const sum = (counts: (value: number) => boolean) =>
      values.filter(counts).reduce((total, value) => total + value, 0);
    low = Math.min(low, ...(stacked ? [sum((value) => value < 0)] : values));
    high = Math.max(high, ...(stacked ? [sum((value) => value > 0)] : values));
  }
  return { low, high };
}

/**
 * Scales of two axes that have zero at the same height, so that a figure has the same sign on both. Empty when no figure is
 * negative: both axes start at zero then.
 * @param divide raw units per drawn unit, by axis
 */
export function alignedScales(axes: readonly Axis[], stacked: boolean, divide: readonly number[]): readonly Scale[] {
  const extents = axes.map((axis, index) => {
    const { low, high } = extentOf(axis, stacked && index === 0);
    const unit = divide[index] ?? 1;
    return { low: low / unit, high: high / unit, integer: axis.quantity.kind === 'count' };
  });
  const finite = extents.every(({ low, high }) => Number.isFinite(high - low));
  if (axes.length < 2 || !finite || extents.every(({ low }) => low >= 0)) return [];
  const candidates = INTERVAL_COUNTS.flatMap((parts) =>
    Array.from({ length: parts + 1 }, (_, below) => {
      const above = parts - below;
      const steps = extents.map(({ low, high, integer }) =>
        roundStep(Math.max(stepFor(-low, below), stepFor(high, above)), integer),
      );
      const waste = extents.map(({ low, high }, index) => (parts * (steps[index] ?? 1)) / (high - low || 1));
      return { below, above, steps, waste: waste.reduce((sum, each) => sum + each, 0) };
    }),
  ).filter(({ waste }) => Number.isFinite(waste));
  const [first, ...others] = candidates;
  if (first === undefined) return [];
  const { below, above, steps } = others.reduce((best, each) => (each.waste < best.waste ? each : best), first);
  return steps.map((interval) => ({ min: -below * interval, max: above * interval, interval }));
}

/** The minimum interval for `size` in `parts`; infinite without a part. */
const stepFor = (size: number, parts: number): number => (size <= 0 ? 0 : size / parts);
