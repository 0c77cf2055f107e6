import { dateFormat, numberFormat } from '../base/formats.ts';
import type { Granularity } from '../contract/report.ts';
import type { Value } from '../fetch/dataset.ts';
import { DEFAULT_LOCALE, type Words, wordsOf } from '../words/words.ts';
import { rounder } from './rounding.ts';

export { decimalsOf } from './rounding.ts';

/** What a reader sees where a figure is undefined. Never a zero. */
export const UNDEFINED_TEXT = '–';

const DAY_MS = 86_400_000;
export const DAY_SECONDS = 86_400;

/** What a column holds, as far as showing it goes. The raw value stays as it is; only the face differs. */
export type Quantity =
  | { readonly kind: 'count' }
  | { readonly kind: 'ratio' }
  | { readonly kind: 'duration'; readonly scale: DurationScale }
  /** A unit that we do not know, shown as it is named; null for a number without one. */
  | { readonly kind: 'amount'; readonly unit: string | null; readonly decimals: number }
  | { readonly kind: 'points' }
  | { readonly kind: 'relative' }
  | { readonly kind: 'difference'; readonly unit: string | null; readonly decimals: number }
  | { readonly kind: 'bucket'; readonly granularity: Granularity }
  | { readonly kind: 'day' }
  | { readonly kind: 'instant' }
  /** A number that names something: no thousands separators. */
  | { readonly kind: 'identifier' }
  | { readonly kind: 'text' };

/** One scale a column, so that its figures can be compared at a glance. */
export type DurationScale = 'seconds' | 'clock' | 'days';

/** The scale that fits the longest of `seconds`: under a minute, under two days, longer. */
export function durationScale(seconds: readonly number[]): DurationScale {
  const longest = seconds.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  if (longest < 60 && longest > 0) return 'seconds';
  return longest < 2 * DAY_SECONDS ? 'clock' : 'days';
}

/** A civil date (YYYY-MM-DD) as the midnight UTC that stands for it; undefined when it is not one. */
export function civilDate(text: Value | undefined): Date | undefined {
  if (typeof text !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined;
  const date = new Date(text);
  // 30 February is read as 2 March. (No day of an unreadable date equals any.)
  return date.getUTCDate() === Number(text.slice(8)) ? date : undefined;
}

/** An ISO 8601 instant with its offset; undefined when it is not one. */
export function instant(text: Value | undefined): Date | undefined {
  if (typeof text !== 'string' || !/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/.test(text)) {
    return undefined;
  }
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** `2026-W46`, the ISO 8601 week of a civil date. */
export function isoWeek(date: Date): string {
  const thursday = new Date(date.getTime() + (3 - ((date.getUTCDay() + 6) % 7)) * DAY_MS);
  const year = thursday.getUTCFullYear();
  const week = Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / (7 * DAY_MS)) + 1;
  return `${year}-W${String(week).padStart(2, '0')}`;
}

const dateReader = (locale: string, options: Intl.DateTimeFormatOptions): ((date: Date) => string) => {
  const format = dateFormat(locale, { timeZone: 'UTC', ...options });
  return (date) => format.format(date);
};

function bucketReader(granularity: Granularity, locale: string): (date: Date) => string {
  if (granularity === 'month') return dateReader(locale, { month: 'short', year: 'numeric' });
  if (granularity === 'week') {
    const first = dateReader(locale, { day: 'numeric', month: 'short' });
    const { weekFrom } = wordsOf(locale).table;
    return (date) => weekFrom(isoWeek(date), first(date));
  }
  const day = dateReader(locale, { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' });
  // A comma after the weekday is the locale's habit, and noise in a table.
  return (date) => day(date).replace(',', '');
}

/** A bucket's first day in words: `Mon 16 Nov 2026`, `2026-W47 (from 16 Nov)`, `Nov 2026`. */
export const bucketText = (date: Date, granularity: Granularity, locale: string = DEFAULT_LOCALE): string =>
  bucketReader(granularity, locale)(date);

/** `9–15 November 2026`; one day when both ends are the same. */
export function rangeText(
  range: { readonly from: string; readonly to: string },
  locale: string = DEFAULT_LOCALE,
): string {
  const from = civilDate(range.from);
  const to = civilDate(range.to);
  if (from === undefined || to === undefined) return `${range.from} – ${range.to}`;
  return dateFormat(locale, { timeZone: 'UTC', dateStyle: 'long' }).formatRange(from, to);
}

/** An instant in the reader's zone: `16 November 2026, 08:00 (Europe/Zurich)`. */
export function instantText(at: Date, timezone: string, locale: string = DEFAULT_LOCALE): string {
  const text = dateFormat(locale, {
    timeZone: timezone,
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(at);
  return `${text.replace(' at ', ', ')} (${timezone})`;
}

function durationReader(locale: string): (seconds: number) => string {
  const tiny = numberFormat(locale, { maximumSignificantDigits: 2 });
  const small = numberFormat(locale, { maximumFractionDigits: 1 });
  const whole = numberFormat(locale);
  const parts = (most: number, large: string, rest: number, unit: string): string =>
    `${whole.format(most)} ${large}${rest === 0 ? '' : ` ${rest} ${unit}`}`;
  const text = (size: number): string => {
    if (size < 60 && Math.round(size * 10) < 600) return `${(size !== 0 && size < 0.1 ? tiny : small).format(size)} s`;
    const total = Math.round(size);
    if (total < 3600) return parts(Math.floor(total / 60), 'min', total % 60, 's');
    const minutes = Math.round(size / 60);
    if (minutes < 24 * 60) return parts(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
    const hours = Math.round(size / 3600);
    return parts(Math.floor(hours / 24), 'd', hours % 24, 'h');
  };
  return (seconds) => `${seconds < 0 ? '−' : ''}${text(Math.abs(seconds))}`;
}

/** The day of an instant in the reader's zone: `16 November 2026`. */
export const dayText = (at: Date, timezone: string, locale: string = DEFAULT_LOCALE): string =>
  dateFormat(locale, { timeZone: timezone, day: 'numeric', month: 'long', year: 'numeric' }).format(at);

/** A duration in its two largest parts: `2 d 4 h`, `3 h 12 min`, `4 min 5 s`, `12.4 s`. */
export const durationText = (seconds: number, locale: string = DEFAULT_LOCALE): string =>
  durationReader(locale)(seconds);

const withUnit = (text: (value: number) => string, unit: string | null): ((value: number) => string) =>
  unit === null ? text : (value) => `${text(value)} ${unit}`;

const SIGNED = { signDisplay: 'exceptZero' } as const;
/** Without thousands separators, as in the workbook. */
const PERCENT = { style: 'percent', useGrouping: false } as const;

/** How Intl writes the figures of a quantity; undefined where they are not rounded to decimals of its unit. */
function intlOf({ kind }: Quantity): Intl.NumberFormatOptions | undefined {
  switch (kind) {
    case 'count':
    case 'amount':
      return {};
    case 'ratio':
      return PERCENT;
    case 'relative':
      return { ...PERCENT, ...SIGNED };
    case 'points':
      return { ...SIGNED, useGrouping: false };
    case 'difference':
      return SIGNED;
    default:
      return undefined;
  }
}

/**
 * The figures of a quantity without their unit, `12.4%`, `0.04%`, `<0.000001`, as a cell of the workbook shows them. Of
 * durations in words see `durationText`.
 */
export function figureReader(quantity: Quantity, locale: string): (value: number) => string {
  const options = intlOf(quantity) ?? {};
  const roundingOf = rounder(quantity);
  const formats = new Map<number, Intl.NumberFormat>();
  const write = (value: number, decimals: number): string => {
    const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
    const format = formats.get(decimals) ?? numberFormat(locale, { ...options, ...digits });
    formats.set(decimals, format);
    return format.format(value);
  };
  return (value) => {
    const { decimals, bound } = roundingOf(value);
    return bound === undefined ? write(value, decimals) : `${bound.is}${write(bound.value, decimals)}`;
  };
}

function numberReader(quantity: Quantity, locale: string): (value: number) => string {
  switch (quantity.kind) {
    case 'duration':
      return durationReader(locale);
    case 'identifier':
    case 'text':
      return String;
    case 'bucket':
    case 'day':
    case 'instant': {
      const plain = numberFormat(locale, { maximumFractionDigits: 2 });
      return (value) => plain.format(value);
    }
    case 'points':
      return withUnit(figureReader(quantity, locale), wordsOf(locale).table.points);
    case 'amount':
    case 'difference':
      return withUnit(figureReader(quantity, locale), quantity.unit);
    default:
      return figureReader(quantity, locale);
  }
}

function textReader(quantity: Quantity, locale: string): (value: string) => string {
  if (quantity.kind !== 'bucket' && quantity.kind !== 'day') return (value) => value;
  const words = bucketReader(quantity.kind === 'bucket' ? quantity.granularity : 'day', locale);
  return (value) => {
    const date = civilDate(value);
    return date === undefined ? value : words(date);
  };
}

/**
 * How a person reads the values of one column, with their unit; `–` where one is undefined. The one place that does so.
 * Made once for a column: it costs far more to make than to use.
 */
export function valueReader(quantity: Quantity, locale: string = DEFAULT_LOCALE): (value: Value | undefined) => string {
  const numberText = numberReader(quantity, locale);
  const text = textReader(quantity, locale);
  const { yes, no } = wordsOf(locale).table;
  return (value) => {
    if (value === null || value === undefined) return UNDEFINED_TEXT;
    if (typeof value === 'number') return numberText(value);
    if (typeof value === 'boolean') return value ? yes : no;
    return text(value);
  };
}

/** One raw value as a person reads it; see `valueReader`. */
export const valueText = (value: Value | undefined, quantity: Quantity, locale: string = DEFAULT_LOCALE): string =>
  valueReader(quantity, locale)(value);

/** The unit as a column header of the workbook names it; undefined where the figures speak for themselves. */
export function unitWord(quantity: Quantity, { table }: Words): string | undefined {
  switch (quantity.kind) {
    case 'ratio':
    case 'relative':
      return '%';
    case 'duration':
      return { seconds: 's', clock: 'h:mm:ss', days: table.days }[quantity.scale];
    case 'points':
      return table.points;
    case 'amount':
    case 'difference':
      return quantity.unit ?? undefined;
    case 'instant':
      return 'UTC';
    default:
      return undefined;
  }
}

/** The unit of the raw value, as the CSV's header names it. */
export function rawUnitWord(unit: string | null, { table }: Words): string | undefined {
  if (unit === null) return undefined;
  return unit === 'ratio' ? table.rawRatio : unit;
}
