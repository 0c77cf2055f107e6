import { type Figure, fewCases } from './expected.ts';

// The usual range of a figure, written from the contract only. It uses nothing of src/.

export interface Usual {
  readonly low: number;
  readonly high: number;
  readonly state: 'usual' | 'unusual' | 'drifting';
}

/** Counts are small if their mean and the figure are below this. */
const SMALL = 10;

/** The usual range of the last of these complete, consecutive figures. @param digit the last shown digit, as a raw value */
export function usualOf(figures: readonly Figure[], digit: number): Usual | undefined {
  const points = figures.map(({ unit, now, cases }) => (fewCases(unit, now, cases) === undefined ? now : null));
  const value = points.pop() ?? null;
  const isCount = figures[0]?.unit === 'count';
  let sum = 0;
  let used = 0;
  const moves: number[] = [];
  for (let at = points.length - 1; at >= 0 && used < 12; at -= 1) {
    const point = points[at] ?? null;
    if (point === null) continue;
    used += 1;
    sum += point;
    const before = points[at - 1] ?? null;
    // The first of the twelve has no earlier figure to move from.
    if (before !== null && used < 12) moves.push(Math.abs(point - before));
  }
  if (value === null || used < 12 || moves.length === 0) return undefined;
  const width = Math.max((2.66 * moves.reduce((all, move) => all + move)) / moves.length, digit);
  const [low, high] = [
    Math.max(0, sum / 12 - width),
    Math.min(figures[0]?.unit === 'ratio' ? 1 : Number.POSITIVE_INFINITY, sum / 12 + width),
  ];
  if (isCount && (low + high) / 2 < SMALL && value < SMALL) return undefined;
  const ends = isCount ? { low: Math.ceil(low), high: Math.floor(high) } : { low, high };
  const looksLike = (end: number): boolean => !isCount && Math.round(value / digit) === Math.round(end / digit);
  if ((value >= low && value <= high) || looksLike(value > high ? high : low)) return { ...ends, state: 'usual' };
  const last = points.at(-1) ?? null;
  const step = last === null ? 0 : value > high ? value - last : last - value;
  return { ...ends, state: step > width ? 'unusual' : 'drifting' };
}
