import type { Axis } from './chart.ts';

/** How far an axis goes and where its lines are. */
export interface Scale {
  readonly min: number;
  readonly max: number;
  readonly interval: number;
}

/** Into how many parts an axis may be divided; of two that fit as well, the first. */
const PARTS = [4, 5, 6, 3];
/** Steps between the lines of an axis that people can add up; whole things have no halves. */
const STEPS = [1, 2, 2.5, 5, 10];

/** The next round step that is not smaller. */
function roundStep(size: number, whole: boolean): number {
  if (size === 0) return 1;
  if (!Number.isFinite(size)) return size;
  const power = 10 ** Math.floor(Math.log10(size));
  const step = STEPS.map((each) => each * power).find((each) => each >= size && (!whole || Number.isInteger(each)));
  return step ?? Math.ceil(size);
}

/** From the lowest figure to the highest, nothing included; stacked, of what stands on each other. */
function extentOf({ series }: Axis, stacked: boolean): { readonly low: number; readonly high: number } {
  let low = 0;
  let high = 0;
  for (let at = 0; at < (series[0]?.values.length ?? 0); at += 1) {
    const values = series.map((each) => each.values[at] ?? 0);
    const sum = (kept: (value: number) => boolean) => values.filter(kept).reduce((total, value) => total + value, 0);
    low = Math.min(low, ...(stacked ? [sum((value) => value < 0)] : values));
    high = Math.max(high, ...(stacked ? [sum((value) => value > 0)] : values));
  }
  return { low, high };
}

/**
 * Scales of two axes on which nothing is at the same height: a column below it would otherwise look to a reader of the
 * other axis as if it were above. None where no figure is negative, because both begin at nothing then.
 * @param divide of each axis: in which unit it is drawn
 */
export function alignedScales(axes: readonly Axis[], stacked: boolean, divide: readonly number[]): readonly Scale[] {
  const extents = axes.map((axis, index) => {
    const { low, high } = extentOf(axis, stacked && index === 0);
    const unit = divide[index] ?? 1;
    return { low: low / unit, high: high / unit, whole: axis.quantity.kind === 'count' };
  });
  const known = extents.every(({ low, high }) => Number.isFinite(high - low));
  if (axes.length < 2 || !known || extents.every(({ low }) => low >= 0)) return [];
  const fits = PARTS.flatMap((parts) =>
    Array.from({ length: parts + 1 }, (_, below) => {
      const above = parts - below;
      const steps = extents.map(({ low, high, whole }) =>
        roundStep(Math.max(over(-low, below), over(high, above)), whole),
      );
      const waste = extents.map(({ low, high }, index) => (parts * (steps[index] ?? 1)) / (high - low || 1));
      return { below, above, steps, waste: waste.reduce((sum, each) => sum + each, 0) };
    }),
  ).filter(({ waste }) => Number.isFinite(waste));
  const [first, ...others] = fits;
  if (first === undefined) return [];
  const { below, above, steps } = others.reduce((best, each) => (each.waste < best.waste ? each : best), first);
  return steps.map((interval) => ({ min: -below * interval, max: above * interval, interval }));
}

/** How large each of so many parts has to be; nothing fits into none. */
const over = (size: number, parts: number): number => (size <= 0 ? 0 : size / parts);
