import type { Granularity } from '../contract/report.ts';
import type { Value } from '../fetch/dataset.ts';

/** What a reader sees where a figure is undefined. Never a zero. */
export const UNDEFINED_TEXT = '–';
export const DEFAULT_LOCALE = 'en-GB';

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

const MAX_DECIMALS = 6;

/** How many decimals show every one of `values` in full; at most six. */
export function decimalsOf(values: readonly number[]): number {
  return values.reduce((most, value) => {
    let decimals = most;
    while (decimals < MAX_DECIMALS && Number(value.toFixed(decimals)) !== value) decimals += 1;
    return decimals;
  }, 0);
}

/** A civil date (YYYY-MM-DD) as the midnight UTC that stands for it; undefined when it is not one. */
export function civilDate(text: Value | undefined): Date | undefined {
  if (typeof text !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined;
  const date = new Date(`${text}T00:00:00Z`);
  return Number.isNaN(date.getTime()) || date.toISOString().slice(0, 10) !== text ? undefined : date;
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

const dateText = (date: Date, locale: string, options: Intl.DateTimeFormatOptions): string =>
  new Intl.DateTimeFormat(locale, { timeZone: 'UTC', ...options }).format(date);

/** A bucket's first day in words: `Mon 16 Nov 2026`, `2026-W47 (from 16 Nov)`, `Nov 2026`. */
export function bucketText(date: Date, granularity: Granularity, locale: string = DEFAULT_LOCALE): string {
  if (granularity === 'month') return dateText(date, locale, { month: 'short', year: 'numeric' });
  if (granularity === 'week')
    return `${isoWeek(date)} (from ${dateText(date, locale, { day: 'numeric', month: 'short' })})`;
  // A comma after the weekday is the locale's habit, and noise in a table.
  return dateText(date, locale, { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' }).replace(',', '');
}

/** `9–15 November 2026`; one day when both ends are the same. */
export function rangeText(
  range: { readonly from: string; readonly to: string },
  locale: string = DEFAULT_LOCALE,
): string {
  const from = civilDate(range.from);
  const to = civilDate(range.to);
  if (from === undefined || to === undefined) return `${range.from} – ${range.to}`;
  return new Intl.DateTimeFormat(locale, { timeZone: 'UTC', dateStyle: 'long' }).formatRange(from, to);
}

/** An instant in the reader's zone: `16 November 2026, 08:00 (Europe/Zurich)`. */
export function instantText(at: Date, timezone: string, locale: string = DEFAULT_LOCALE): string {
  const text = new Intl.DateTimeFormat(locale, {
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

/** A duration in its two largest parts: `2 d 4 h`, `3 h 12 min`, `4 min 5 s`, `12.4 s`. */
export function durationText(seconds: number, locale: string = DEFAULT_LOCALE): string {
  const sign = seconds < 0 ? '−' : '';
  const size = Math.abs(seconds);
  if (size < 60 && Math.round(size * 10) < 600) {
    const digits = size !== 0 && size < 0.1 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 1 };
    return `${sign}${new Intl.NumberFormat(locale, digits).format(size)} s`;
  }
  const parts = (whole: number, large: string, rest: number, small: string) =>
    `${sign}${new Intl.NumberFormat(locale).format(whole)} ${large}${rest === 0 ? '' : ` ${rest} ${small}`}`;
  const total = Math.round(size);
  if (total < 3600) return parts(Math.floor(total / 60), 'min', total % 60, 's');
  const minutes = Math.round(size / 60);
  if (minutes < 24 * 60) return parts(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  const hours = Math.round(size / 3600);
  return parts(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

const signed = (value: number, locale: string, options: Intl.NumberFormatOptions): string =>
  new Intl.NumberFormat(locale, { signDisplay: 'exceptZero', ...options }).format(value);

function numberText(value: number, quantity: Quantity, locale: string): string {
  const plain = (options: Intl.NumberFormatOptions = { maximumFractionDigits: 2 }) =>
    new Intl.NumberFormat(locale, options).format(value);
  switch (quantity.kind) {
    case 'ratio': {
      const digits = { style: 'percent', minimumFractionDigits: 1, maximumFractionDigits: 1 } as const;
      // A share that is there must not read as one that is not.
      return value > 0 && value < 0.0005 ? `<${new Intl.NumberFormat(locale, digits).format(0.001)}` : plain(digits);
    }
    case 'duration':
      return durationText(value, locale);
    case 'points':
      return `${signed(value, locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 })} pp`;
    case 'relative':
      return signed(value, locale, { style: 'percent', minimumFractionDigits: 1, maximumFractionDigits: 1 });
    case 'difference':
      return `${signed(value, locale, { maximumFractionDigits: 6 })}${quantity.unit === null ? '' : ` ${quantity.unit}`}`;
    case 'amount':
      return `${plain({ maximumFractionDigits: 6 })}${quantity.unit === null ? '' : ` ${quantity.unit}`}`;
    case 'identifier':
    case 'text':
      return String(value);
    default:
      return plain();
  }
}

/** A raw value as a person reads it, with its unit; `–` where it is undefined. The one place that does so. */
export function valueText(value: Value | undefined, quantity: Quantity, locale: string = DEFAULT_LOCALE): string {
  if (value === null || value === undefined) return UNDEFINED_TEXT;
  if (typeof value === 'number') return numberText(value, quantity, locale);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  const date = quantity.kind === 'bucket' || quantity.kind === 'day' ? civilDate(value) : undefined;
  if (date !== undefined) return bucketText(date, quantity.kind === 'bucket' ? quantity.granularity : 'day', locale);
  return value;
}

/** The unit as a column header of the workbook names it; undefined where the figures speak for themselves. */
export function unitWord(quantity: Quantity): string | undefined {
  switch (quantity.kind) {
    case 'ratio':
    case 'relative':
      return '%';
    case 'duration':
      return { seconds: 's', clock: 'h:mm:ss', days: 'days' }[quantity.scale];
    case 'points':
      return 'pp';
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
export function rawUnitWord(unit: string | null): string | undefined {
  if (unit === null) return undefined;
  return unit === 'ratio' ? 'ratio 0–1' : unit;
}
