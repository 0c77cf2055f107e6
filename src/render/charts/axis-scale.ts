import type { Quantity } from '../figures/quantity.ts';
import type { Axis, Chart } from './chart.ts';

/** The range of an axis and the interval of its grid lines. */
export interface Scale {
  readonly min: number;
  readonly max: number;
  readonly interval: number;
}

/** Allowed numbers of intervals, in order of preference. */
const INTERVAL_COUNTS = [4, 5, 6, 3];
/** Allowed intervals, each times a power of ten. */
const ROUND_STEPS = [1, 2, 2.5, 5, 10];

/** The number of intervals of a single axis. */
const INTERVALS = 4;

/** The smallest allowed interval that is at least `size`, ignoring floating-point noise. */
function roundStep(size: number, integer: boolean): number {
  if (size <= 0) return 1;
  if (!Number.isFinite(size)) return size;
  const power = 10 ** Math.floor(Math.log10(size));
  const step = ROUND_STEPS.map((each) => each * power).find(
    (each) => each >= size * (1 - 1e-9) && (!integer || Number.isInteger(each)),
  );
  return step ?? Math.ceil(size);
}

/** A scale that includes zero and all values, with about four round intervals. */
export function zeroBasedScale(values: readonly number[], quantity: Quantity): Scale {
  const finite = values.filter(Number.isFinite);
  const low = Math.min(0, ...finite);
  const high = Math.max(0, ...finite);
  const interval = roundStep(high / INTERVALS - low / INTERVALS, quantity.kind === 'count');
  const min = Math.floor(low / interval + 1e-9) * interval;
  const max = Math.ceil(high / interval - 1e-9) * interval;
  return { min, max: max === min ? min + interval : max, interval };
}

/**
 * A scale for lines. If all figures are far from zero, it does not begin at zero: rates from 86 to 91 % get a scale
 * from 80 to 95 %. Grid lines are at whole per cents unless they are closer than that.
 */
export function lineScale(values: readonly number[], quantity: Quantity): Scale {
  const finite = values.filter(Number.isFinite);
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  if (finite.length === 0 || low < high / 2 || low <= 0) return zeroBasedScale(values, quantity);
  const spread = Math.max(high - low, high / 50);
  const interval =
    quantity.kind === 'ratio' && spread > 0.01 ? roundStep(100 * spread, true) / 100 : roundStep(spread, false);
  const min = Math.floor((low - 0.75 * spread) / interval + 1e-9) * interval;
  const max = Math.ceil(high / interval - 1e-9) * interval;
  return min <= 0 ? zeroBasedScale(values, quantity) : { min, max, interval };
}

/** Whether figures are drawn as a line with its own scale. Rates are, because small changes of them matter. */
export const isDrawnAsLine = (quantity: Quantity): boolean => quantity.kind === 'ratio';

/**
 * The scales of a chart's axes. They are defined for lines of rates, and for two axes with figures below zero.
 * Elsewhere they are undefined: zero and the largest figure are enough.
 * @param divide raw units per drawn unit, by axis
 */
export function axisScales(chart: Chart, divide: readonly number[]): readonly (Scale | undefined)[] {
  const aligned = alignedScales(chart.axes, chart.kind === 'stacked_column', divide);
  return chart.axes.map(({ quantity, series }, axis) => {
    if (aligned[axis] !== undefined || chart.kind !== 'line' || !isDrawnAsLine(quantity)) return aligned[axis];
    const scale = lineScale(
      series.flatMap(({ values }) => values.flatMap((value) => value ?? [])),
      quantity,
    );
    return scale.min > 0 ? scale : undefined;
  });
}

/** The lowest and the highest figure, or zero if that is lower or higher. For stacked series: of the stacks. */
function measureExtent({ series }: Axis, stacked: boolean): { readonly low: number; readonly high: number } {
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
 * Scales that put zero at the same height on two axes, so that a figure has the same sign on both. Empty if no figure
 * is negative, because both axes then start at zero.
 * @param divide raw units per drawn unit, by axis
 */
function alignedScales(axes: readonly Axis[], stacked: boolean, divide: readonly number[]): readonly Scale[] {
  const extents = axes.map((axis, index) => {
    const { low, high } = measureExtent(axis, stacked && index === 0);
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

/** The smallest interval with which `size` fits into `parts` intervals; infinite without parts. */
const stepFor = (size: number, parts: number): number => (size <= 0 ? 0 : size / parts);
