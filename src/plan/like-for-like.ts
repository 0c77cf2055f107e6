import { DateTime } from 'luxon';
import type { Granularity } from '../contract/report.ts';
import type { FiscalCalendar } from '../definitions/periods/fiscal-calendar.ts';
import { civilDate } from '../definitions/periods/period.ts';
import type { ComparisonKind, ToDate } from '../definitions/schema/comparison.ts';
import { type Bucket, type DateRange, dateOf, dayCount, endOfDay, lastDayOfBucket, previousPeriod } from './buckets.ts';

/**
 * Why a change is not shown:
 * - `unfinished`: the range had not ended when its figures were computed
 * - `no_partner`: a week 53 in a year whose predecessor has 52
 * - `partial`: one of the two buckets is cut off by its range
 * - `weekdays`: equally many days that begin on different weekdays
 * - `length`: different numbers of days
 */
export const UNLIKE_REASONS = ['unfinished', 'no_partner', 'partial', 'weekdays', 'length'] as const;
export type UnlikeReason = (typeof UNLIKE_REASONS)[number];

/** Totals of fewer days are compared only with their like. */
const MIN_DAYS_OF_UNLIKE_TOTALS = 7;

// Civil dates are computed in UTC, where every day exists and has 24 hours.

/** The number of whole months that begin on this day of the month; undefined if the range is not made of such. */
function wholeMonths({ from, to }: DateRange, firstDay: number): number | undefined {
  const first = civilDate(from);
  const after = civilDate(to).plus({ days: 1 });
  if (first.day !== firstDay || after.day !== firstDay) return undefined;
  const months = (after.year - first.year) * 12 + after.month - first.month;
  return months > 0 ? months : undefined;
}

/** The number of whole months of the calendar, or else of the fiscal year; undefined if the range has other days. */
const monthsOf = (range: DateRange, { fiscal_year_start: fiscal }: FiscalCalendar): number | undefined =>
  wholeMonths(range, 1) ?? (fiscal === undefined ? undefined : wholeMonths(range, fiscal.day));

/**
 * Why two ranges are not like; undefined if they are: equally many whole months (so quarters and years as well) of the
 * calendar or the fiscal year, or equally many days that begin on the same weekday.
 */
export function unlikeness(
  a: DateRange,
  b: DateRange,
  calendar: FiscalCalendar = {},
): 'weekdays' | 'length' | undefined {
  const months = monthsOf(a, calendar);
  if (months !== undefined && months === monthsOf(b, calendar)) return undefined;
  if (dayCount(a) !== dayCount(b)) return 'length';
  return civilDate(a.from).weekday === civilDate(b.from).weekday ? undefined : 'weekdays';
}

/** Whether the range had ended in its zone when its figures were computed. */
const hasEnded = ({ to }: DateRange, timezone: string, asOf: number): boolean => endOfDay(to, timezone) <= asOf;

export interface ComparisonContext {
  readonly timezone: string;
  /** Epoch ms at which the figures were computed. */
  readonly asOf: number;
  readonly calendar?: FiscalCalendar;
}

/**
 * Why a row's change is not shown; undefined if it is.
 * @param bucket clipped to the range of its table
 * @param partner clipped to the compared range; undefined without one
 */
export function unlikeRow(
  bucket: Bucket,
  partner: Bucket | undefined,
  granularity: Granularity,
  { timezone, asOf, calendar }: ComparisonContext,
): UnlikeReason | undefined {
  if (!hasEnded(bucket, timezone, asOf)) return 'unfinished';
  if (partner === undefined) return 'no_partner';
  const unlike = unlikeness(bucket, partner, calendar);
  if (unlike === undefined) return undefined;
  return isWhole(bucket, granularity) && isWhole(partner, granularity) ? unlike : 'partial';
}

const isWhole = ({ label, from, to }: Bucket, granularity: Granularity): boolean =>
  from === label && to === lastDayOfBucket(label, granularity);

/**
 * Whether totals, and rows without a bucket, are compared. Those of at least seven ended days are, even with an unlike
 * range: `unlike` and `days` then need a note.
 */
export type TotalsComparison =
  | { readonly compared: true; readonly unlike?: 'weekdays' | 'length'; readonly days?: readonly [number, number] }
  | { readonly compared: false; readonly unlike: UnlikeReason };

export function compareTotals(
  range: DateRange,
  partner: DateRange | undefined,
  { timezone, asOf, calendar }: ComparisonContext,
): TotalsComparison {
  if (!hasEnded(range, timezone, asOf)) return { compared: false, unlike: 'unfinished' };
  if (partner === undefined) return { compared: false, unlike: 'no_partner' };
  const unlike = unlikeness(range, partner, calendar);
  const shorter = Math.min(dayCount(range), dayCount(partner));
  if (unlike !== undefined && shorter < MIN_DAYS_OF_UNLIKE_TOTALS) return { compared: false, unlike };
  const days = differentLengths(range, partner);
  return { compared: true, ...(unlike === undefined ? {} : { unlike }), ...(days === null ? {} : { days }) };
}

/** The days of a range and of its partner, where they differ. */
export function differentLengths(
  range: DateRange | undefined,
  partner: DateRange | undefined,
): readonly [number, number] | null {
  if (range === undefined || partner === undefined) return null;
  const days = [dayCount(range), dayCount(partner)] as const;
  return days[0] === days[1] ? null : days;
}

/** The same week number of the ISO year before; undefined for a week 53 that it does not have. */
function weekOfYearBefore(monday: DateTime): DateTime | undefined {
  const { weekYear, weekNumber } = monday;
  const before = DateTime.fromObject({ weekYear: weekYear - 1, weekNumber: 1, weekday: 1 }, { zone: 'utc' });
  return weekNumber > before.weeksInWeekYear ? undefined : before.plus({ weeks: weekNumber - 1 });
}

/** 52 weeks: weekdays agree. */
const YEAR_OF_WEEKS = { days: 364 } as const;

/**
 * The days that a range is compared with; undefined for a single week 53 without a partner.
 * - `previous_period`: as the service computes it (specification §2.7)
 * - `previous_year`: of whole months the same months a year before; of whole ISO weeks as many from the same week number
 *   on; else the same weekdays 364 days before
 */
export function partnerOf(
  range: DateRange,
  kind: ComparisonKind,
  calendar: FiscalCalendar = {},
): DateRange | undefined {
  if (kind === 'previous_period') return previousPeriod(range);
  const from = civilDate(range.from);
  const to = civilDate(range.to);
  if (monthsOf(range, calendar) !== undefined) {
    // The end is computed from the day after it: the last of February has no fixed date.
    return { from: dateOf(from.minus({ years: 1 })), to: dateOf(to.plus({ days: 1 }).minus({ years: 1, days: 1 })) };
  }
  const wholeWeeks = from.weekday === 1 && to.weekday === 7;
  const week = wholeWeeks ? weekOfYearBefore(from) : undefined;
  if (wholeWeeks && week === undefined && dayCount(range) === 7) return undefined;
  const first = week ?? from.minus(YEAR_OF_WEEKS);
  return { from: dateOf(first), to: dateOf(first.plus({ days: dayCount(range) - 1 })) };
}

/**
 * The bucket a year before, cut off like this one; undefined for a week 53 without a partner. Days are those 364 days
 * before, weeks have the same ISO number, longer buckets are the same months.
 */
export function yearBefore(bucket: Bucket, granularity: Granularity): Bucket | undefined {
  const label = civilDate(bucket.label);
  const before =
    granularity === 'day'
      ? label.minus(YEAR_OF_WEEKS)
      : granularity === 'week'
        ? weekOfYearBefore(label)
        : label.minus({ years: 1 });
  if (before === undefined) return undefined;
  const end = before.endOf(granularity).startOf('day');
  const isEnd = bucket.to === dateOf(label.endOf(granularity));
  const at = (day: string): DateTime => {
    const shifted = before.plus({ days: civilDate(day).diff(label, 'days').days });
    return shifted > end ? end : shifted;
  };
  return { label: dateOf(before), from: dateOf(at(bucket.from)), to: dateOf(isEnd ? end : at(bucket.to)) };
}

/** The days from the first to the last partner of the buckets; undefined if none has one. */
export function yearBeforeRange(buckets: readonly Bucket[], granularity: Granularity): DateRange | undefined {
  const partners = buckets.flatMap((bucket) => yearBefore(bucket, granularity) ?? []);
  const [first] = partners;
  const last = partners.at(-1);
  return first === undefined || last === undefined ? undefined : { from: first.from, to: last.to };
}

/** From the first day of the year or quarter that holds the range's last day to that day. Quarters are the fiscal year's. */
export function toDateRange(
  { to }: DateRange,
  unit: ToDate,
  { fiscal_year_start: fiscal }: FiscalCalendar = {},
): DateRange {
  const last = civilDate(to);
  if (unit === 'year' || fiscal === undefined)
    return { from: dateOf(last.startOf(unit === 'quarter' ? 'quarter' : 'year')), to };
  const sameYear = DateTime.utc(last.year, fiscal.month, fiscal.day);
  const year = sameYear > last ? sameYear.minus({ years: 1 }) : sameYear;
  if (unit === 'fiscal_year') return { from: dateOf(year), to };
  const quarters = [3, 2, 1].find((count) => year.plus({ quarters: count }) <= last) ?? 0;
  return { from: dateOf(year.plus({ quarters })), to };
}
