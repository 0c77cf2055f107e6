import { intlNumberFormat } from '../../../base/text/intl.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../base/time.ts';

const LOCALE = 'en-GB';

/** `12,345`. */
export const formatInteger = (value: number): string => intlNumberFormat(LOCALE).format(value);

/** `1 call`, `12,345 calls`. */
export const formatCounted = (value: number, one: string, many = `${one}s`): string =>
  `${formatInteger(value)} ${value === 1 ? one : many}`;

const SIZES = ['B', 'KB', 'MB', 'GB'] as const;

/** `812 B`, `48 KB`, `1.3 MB`, in units of 1,024. */
export function formatByteCount(value: number): string {
  let size = value;
  let unit = 0;
  while (size >= 1024 && unit < SIZES.length - 1) {
    size /= 1024;
    unit += 1;
  }
  const digits = unit > 1 && size < 10 ? 1 : 0;
  return `${intlNumberFormat(LOCALE, { maximumFractionDigits: digits }).format(size)} ${SIZES[unit] ?? 'B'}`;
}

const FEWEST_UNITS = 2;

/** Two units at most: `340 ms`, `3.4 s`, `2 min 5 s`, `1 h 4 min`, `3 d 2 h`. */
export function formatElapsed(ms: number, units: number = FEWEST_UNITS): string {
  if (ms < 1_000) return `${formatInteger(Math.round(ms))} ms`;
  if (ms < 10_000) return `${intlNumberFormat(LOCALE, { maximumFractionDigits: 1 }).format(ms / 1000)} s`;
  return largestUnits(ms, true, units);
}

/** Days, hours, minutes and seconds. */
const ALL_UNITS = 4;
/** Enough to distinguish any two figures of nine significant digits. */
const MAX_DIGITS = 12;

/** @param precision maximum decimals, or units of time; beyond the available units it adds decimals of seconds */
function formatFigure(value: number | null, unit: string | null | undefined, precision: number): string {
  if (value === null) return 'no figure';
  const number = (of: number, digits: number) => intlNumberFormat(LOCALE, { maximumFractionDigits: digits }).format(of);
  if (unit === 'ratio') return `${number(value * 100, precision)}%`;
  if (unit === 'seconds') {
    return precision <= ALL_UNITS
      ? formatElapsed(value * SECOND_MS, precision)
      : `${number(value, precision - ALL_UNITS)} s`;
  }
  return unit == null || unit === 'count' ? number(value, precision) : `${number(value, precision)} ${unit}`;
}

/**
 * Formats two figures as counts, percentages or durations, with as many decimals or units as are needed to distinguish
 * them.
 * @param unit `count`, `ratio`, `seconds`, or a unit to put after the figure
 */
export function formatFigures(
  one: number | null,
  other: number | null,
  unit: string | null | undefined,
): readonly [string, string] {
  for (let precision = FEWEST_UNITS; ; precision += 1) {
    const [first, second] = [formatFigure(one, unit, precision), formatFigure(other, unit, precision)];
    if (first !== second || one === other || precision === MAX_DIGITS) return [first, second];
  }
}

/**
 * The time until or since an instant: `in 3 min`, `2 h 10 min ago`. Leaves out seconds, which change too fast to read.
 */
export function formatRelativeTime(at: number, now: number): string {
  const ms = Math.abs(at - now);
  if (ms < MINUTE_MS) return at > now ? 'in less than a minute' : 'just now';
  const text = largestUnits(ms, false, FEWEST_UNITS);
  return at > now ? `in ${text}` : `${text} ago`;
}

function largestUnits(ms: number, seconds: boolean, count: number): string {
  const units = [
    ['d', DAY_MS],
    ['h', HOUR_MS],
    ['min', MINUTE_MS],
    ...(seconds ? [['s', SECOND_MS] as const] : []),
  ] as const;
  const first = units.findIndex(([, size]) => ms >= size);
  const parts: string[] = [];
  let rest = ms;
  for (const [unit, size] of units.slice(first, first + count)) {
    const whole = Math.floor(rest / size);
    rest -= whole * size;
    if (whole > 0) parts.push(`${formatInteger(whole)} ${unit}`);
  }
  return parts.join(' ');
}
