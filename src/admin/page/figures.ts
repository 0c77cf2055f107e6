import { numberFormat } from '../../base/formats.ts';

const LOCALE = 'en-GB';

/** `12,345`. */
export const count = (value: number): string => numberFormat(LOCALE).format(value);

/** `1 call`, `12,345 calls`. */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

const SIZES = ['B', 'KB', 'MB', 'GB'] as const;

/** `812 B`, `48 KB`, `1.3 MB`: 1,024 to the next. */
export function bytes(value: number): string {
  let size = value;
  let unit = 0;
  while (size >= 1024 && unit < SIZES.length - 1) {
    size /= 1024;
    unit += 1;
  }
  const digits = unit > 1 && size < 10 ? 1 : 0;
  return `${numberFormat(LOCALE, { maximumFractionDigits: digits }).format(size)} ${SIZES[unit] ?? 'B'}`;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Two units at most: `340 ms`, `3.4 s`, `2 min 5 s`, `1 h 4 min`, `3 d 2 h`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${count(Math.round(ms))} ms`;
  if (ms < 10_000) return `${numberFormat(LOCALE, { maximumFractionDigits: 1 }).format(ms / 1000)} s`;
  return inTwo(ms, true);
}

/** How far an instant is: `now`, `in 3 min`, `2 h 10 min ago`. Seconds are left out: they would be wrong when they are read. */
export function distance(at: number, now: number): string {
  const ms = Math.abs(at - now);
  if (ms < MINUTE) return at > now ? 'in less than a minute' : 'just now';
  const text = inTwo(ms, false);
  return at > now ? `in ${text}` : `${text} ago`;
}

function inTwo(ms: number, seconds: boolean): string {
  const units = [['d', DAY], ['h', HOUR], ['min', MINUTE], ...(seconds ? [['s', 1_000] as const] : [])] as const;
  const first = units.findIndex(([, size]) => ms >= size);
  const parts: string[] = [];
  let rest = ms;
  for (const [unit, size] of units.slice(first, first + 2)) {
    const whole = Math.floor(rest / size);
    rest -= whole * size;
    if (whole > 0) parts.push(`${count(whole)} ${unit}`);
  }
  return parts.join(' ');
}
