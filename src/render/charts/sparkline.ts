/** A point of a sparkline. */
interface SparklinePoint {
  readonly value: number | null;
  /** Its time is cut off or has not ended. */
  readonly partial: boolean;
}

/** Lines and dots of a sparkline, in the units of its width and height; y grows downwards. */
export interface SparklinePath {
  /** SVG path data of the line, one `M` for each part between gaps; empty where no two neighbours have values. */
  readonly line: string;
  /** The last point, points without a neighbour, and partial ones, which are hollow. */
  readonly dots: readonly { readonly x: number; readonly y: number; readonly hollow: boolean }[];
}

/** Least height of the scale as a share of the largest figure: smaller changes shall not look large. */
const MIN_SPAN = 0.1;
/** The radius of a dot, which must not be cut off at an edge. */
const MARGIN = 2;

/**
 * The ends of the vertical scale, the same in every format: the least and the largest value, or wider where they are
 * nearly the same; never below zero without negative values. Undefined without values.
 */
export function sparklineScale(
  values: readonly (number | null)[],
): { readonly min: number; readonly max: number } | undefined {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return undefined;
  const [least, largest] = [Math.min(...known), Math.max(...known)];
  const span = Math.max(largest - least, MIN_SPAN * Math.max(Math.abs(least), Math.abs(largest)), Number.MIN_VALUE);
  const missing = span - (largest - least);
  const lower = least - missing / 2;
  const min = least >= 0 ? Math.max(0, lower) : lower;
  return { min, max: Math.max(min + span, largest) };
}

/** Two decimals: finer than a pixel, and the same text on every machine. */
const rounded = (value: number): number => Math.round(value * 100) / 100;

/** Draws a sparkline. Points without a value leave a gap; equal distances between points. */
export function sparklinePath(points: readonly SparklinePoint[], width: number, height: number): SparklinePath {
  const scale = sparklineScale(points.map(({ value }) => value));
  if (scale === undefined) return { line: '', dots: [] };
  const { min, max } = scale;
  const step = points.length > 1 ? (width - 2 * MARGIN) / (points.length - 1) : 0;
  const place = (value: number, index: number) => ({
    x: rounded(points.length > 1 ? MARGIN + index * step : width / 2),
    y: rounded(MARGIN + (1 - (max === min ? 0.5 : (value - min) / (max - min))) * (height - 2 * MARGIN)),
  });
  const last = points.findLastIndex(({ value }) => value !== null);
  const isKnown = (index: number): boolean => (points[index]?.value ?? null) !== null;
  const commands: string[] = [];
  const dots: SparklinePath['dots'][number][] = [];
  for (const [index, { value, partial }] of points.entries()) {
    if (value === null) continue;
    const { x, y } = place(value, index);
    const [before, after] = [isKnown(index - 1), isKnown(index + 1)];
    if (before || after) commands.push(`${before ? 'L' : 'M'}${x} ${y}`);
    if (index === last || partial || !(before || after)) dots.push({ x, y, hollow: partial });
  }
  return { line: commands.join(''), dots };
}
