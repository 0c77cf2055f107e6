/** A point of a sparkline. */
interface SparklinePoint {
  readonly value: number | null;
  /** Its time is cut off or has not ended. */
  readonly partial: boolean;
}

/** A usual range, drawn from one of the points on. */
interface SparklineBand {
  readonly low: number;
  readonly high: number;
  readonly from: number;
}

/** Lines and dots of a sparkline, in the units of its width and height; y grows downwards. */
export interface SparklinePath {
  /** SVG path data of the line, with one `M` for each part between gaps. Empty if no two neighbours have values. */
  readonly line: string;
  /** Dots for the last point, points without a neighbour, and partial points, which are hollow. */
  readonly dots: readonly { readonly x: number; readonly y: number; readonly hollow: boolean }[];
  /** The usual range; absent without one. */
  readonly area?: { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
}

/**
 * The least height of the scale, as a share of the largest figure. A smaller scale would make small changes look large.
 */
const MIN_SPAN = 0.1;
/** The radius of a dot, so that none is cut off at an edge. */
const MARGIN = 2;

/**
 * The ends of the vertical scale, the same in every format: the smallest and the largest value, or a wider range if
 * they are almost equal. The lower end is below zero only with negative values. Undefined without values.
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

/**
 * Draws a sparkline as SVG, with its usual range if it has one.
 * @param colours as `#rrggbb`; `last` is the dot of the last point; without `ground` the page shows through
 */
export function sparklineSvg(
  points: readonly SparklinePoint[],
  { width, height, band }: { readonly width: number; readonly height: number; readonly band?: SparklineBand },
  colours: { readonly line: string; readonly last: string; readonly ground?: string; readonly band?: string },
): string {
  const { line, dots, area } = sparklinePath(points, width, height, band);
  const circles = dots.map(({ x, y, hollow }, index) => {
    const colour = index === dots.length - 1 ? colours.last : colours.line;
    const fill = hollow ? `fill="#ffffff" stroke="${colours.line}"` : `fill="${colour}"`;
    return `<circle cx="${x}" cy="${y}" r="${hollow ? 1.5 : 2}" ${fill}/>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    colours.ground === undefined ? '' : `<rect width="${width}" height="${height}" fill="${colours.ground}"/>`,
    area === undefined
      ? ''
      : `<rect x="${area.x}" y="${area.y}" width="${area.width}" height="${area.height}" fill="${colours.band}"/>`,
    line === ''
      ? ''
      : `<path d="${line}" fill="none" stroke="${colours.line}" stroke-width="1.6" stroke-linejoin="round"/>`,
    ...circles,
    '</svg>',
  ].join('');
}

/** Two decimals are finer than a pixel, and give the same text on every machine. */
const rounded = (value: number): number => Math.round(value * 100) / 100;

/**
 * Draws a sparkline with equal distances between points. Points without a value leave a gap.
 * @param band the usual range, from a point on
 */
export function sparklinePath(
  points: readonly SparklinePoint[],
  width: number,
  height: number,
  band?: SparklineBand,
): SparklinePath {
  const scale = sparklineScale([...points.map(({ value }) => value), band?.low ?? null, band?.high ?? null]);
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
  if (band === undefined) return { line: commands.join(''), dots };
  const [start, end] = [place(band.high, band.from), place(band.low, points.length - 1)];
  const area = {
    x: start.x,
    y: start.y,
    width: rounded(end.x - start.x),
    height: Math.max(1, rounded(end.y - start.y)),
  };
  return { line: commands.join(''), dots, area };
}
