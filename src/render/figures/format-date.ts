import { intlDateTimeFormat } from '../../base/text/intl.ts';
import { DAY_MS } from '../../base/time.ts';
import type { Granularity } from '../../contract/report.ts';
import { DEFAULT_LOCALE, messagesFor } from '../../i18n/messages.ts';
import { parseCivilDate } from './quantity.ts';

/** The ISO 8601 week of a civil date: `2026-W46`. */
export function formatIsoWeek(date: Date): string {
  const thursday = new Date(date.getTime() + (3 - ((date.getUTCDay() + 6) % 7)) * DAY_MS);
  const year = thursday.getUTCFullYear();
  const week = Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / (7 * DAY_MS)) + 1;
  return `${year}-W${String(week).padStart(2, '0')}`;
}

const utcDateFormatter = (locale: string, options: Intl.DateTimeFormatOptions): ((date: Date) => string) => {
  const format = intlDateTimeFormat(locale, { timeZone: 'UTC', ...options });
  return (date) => format.format(date);
};

/** Creates a function that formats buckets by their first day. */
export function bucketFormatter(granularity: Granularity, locale: string): (date: Date) => string {
  if (granularity === 'month') return utcDateFormatter(locale, { month: 'short', year: 'numeric' });
  if (granularity === 'week') {
    const first = utcDateFormatter(locale, { day: 'numeric', month: 'short' });
    const { weekFrom } = messagesFor(locale).table;
    return (date) => weekFrom(formatIsoWeek(date), first(date));
  }
  const day = utcDateFormatter(locale, { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' });
  // Tables show dates without the locale's comma after the weekday.
  return (date) => day(date).replace(',', '');
}

/** A bucket's first day in words: `Mon 16 Nov 2026`, `2026-W47 (from 16 Nov)`, `Nov 2026`. */
export const formatBucket = (date: Date, granularity: Granularity, locale: string = DEFAULT_LOCALE): string =>
  bucketFormatter(granularity, locale)(date);

/** `9–15 November 2026`, or a single day if both ends are the same. */
export function formatDateRange(
  range: { readonly from: string; readonly to: string },
  locale: string = DEFAULT_LOCALE,
): string {
  const from = parseCivilDate(range.from);
  const to = parseCivilDate(range.to);
  if (from === undefined || to === undefined) return `${range.from} – ${range.to}`;
  return intlDateTimeFormat(locale, { timeZone: 'UTC', dateStyle: 'long' }).formatRange(from, to);
}

/** An instant in a time zone: `16 November 2026, 08:00 (Europe/Zurich)`. */
export function formatZonedInstant(at: Date, timezone: string, locale: string = DEFAULT_LOCALE): string {
  const text = intlDateTimeFormat(locale, {
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

/** The day of an instant in a time zone: `16 November 2026`. */
export const formatLocalDay = (at: Date, timezone: string, locale: string = DEFAULT_LOCALE): string =>
  intlDateTimeFormat(locale, { timeZone: timezone, day: 'numeric', month: 'long', year: 'numeric' }).format(at);

/** The day of an instant in a time zone, with a short month: `3 Nov 2026`. */
export const formatShortLocalDay = (at: Date, timezone: string, locale: string = DEFAULT_LOCALE): string =>
  intlDateTimeFormat(locale, { timeZone: timezone, day: 'numeric', month: 'short', year: 'numeric' }).format(at);
