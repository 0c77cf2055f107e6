import { DateTime } from 'luxon';
import type { Granularity } from '../contract/report.ts';
import type { FiscalCalendar } from '../definitions/periods/fiscal-calendar.ts';
import { civilDate } from '../definitions/periods/period.ts';
import type { ComparisonKind, ToDate } from '../definitions/schema/comparison.ts';
import {
  type Bucket,
  type DateRange,
  dayCount,
  endOfDay,
  lastDayOfBucket,
  previousPeriod,
  toIsoDay,
} from './buckets.ts';

/**
 * Why a change is not shown:
 * - `unfinished`: the range had not ended when its figures were computed
 * - `no_partner`: a week 53, if the year before has only 52
 * - `partial`: one of the two buckets is cut off by its range
 * - `weekdays`: the same number of days, but beginning on different weekdays
 * - `length`: different numbers of days
 */
export const NOT_COMPARABLE_REASONS = ['unfinished', 'no_partner', 'partial', 'weekdays', 'length'] as const;
export type NotComparableReason = (typeof NOT_COMPARABLE_REASONS)[number];

/** Totals of fewer days than this are compared only with a comparable range. */
const MIN_DAYS_OF_UNEQUAL_TOTALS = 7;

// Civil dates are computed in UTC, where every day exists and has 24 hours.

/** The number of whole months, each beginning on this day; undefined if the range does not consist of such months. */
function wholeMonths({ from, to }: DateRange, firstDay: number): number | undefined {
  const first = civilDate(from);
  const after = civilDate(to).plus({ days: 1 });
  if (first.day !== firstDay || after.day !== firstDay) return undefined;
  const months = (after.year - first.year) * 12 + after.month - first.month;
  return months > 0 ? months : undefined;
}

/**
 * The number of whole months of the calendar, otherwise of the fiscal year; undefined if the range does not consist of
 * whole months.
 */
const countMonths = (range: DateRange, { fiscal_year_start: fiscal }: FiscalCalendar): number | undefined =>
  wholeMonths(range, 1) ?? (fiscal === undefined ? undefined : wholeMonths(range, fiscal.day));

/**
 * Why two ranges are not comparable; undefined if they are. They are if they have the same number of whole months (and
 * so quarters and years) of the calendar or the fiscal year, or the same number of days beginning on the same weekday.
 */
export function findMismatch(
  a: DateRange,
  b: DateRange,
  calendar: FiscalCalendar = {},
): 'weekdays' | 'length' | undefined {
  const months = countMonths(a, calendar);
  if (months !== undefined && months === countMonths(b, calendar)) return undefined;
  if (dayCount(a) !== dayCount(b)) return 'length';
  return civilDate(a.from).weekday === civilDate(b.from).weekday ? undefined : 'weekdays';
}

/** Whether the range had ended, in its time zone, when its figures were computed. */
const hasEnded = ({ to }: DateRange, timezone: string, asOf: number): boolean => endOfDay(to, timezone) <= asOf;

export interface ComparisonContext {
  readonly timezone: string;
  /** Epoch ms at which the figures were computed. */
  readonly asOf: number;
  readonly calendar?: FiscalCalendar;
}

/**
 * Why a row's change is not shown; undefined if it is shown.
 * @param bucket clipped to the range of its table
 * @param partner clipped to the compared range; undefined without one
 */
export function findRowMismatch(
  bucket: Bucket,
  partner: Bucket | undefined,
  granularity: Granularity,
  { timezone, asOf, calendar }: ComparisonContext,
): NotComparableReason | undefined {
  if (!hasEnded(bucket, timezone, asOf)) return 'unfinished';
  if (partner === undefined) return 'no_partner';
  const unlike = findMismatch(bucket, partner, calendar);
  if (unlike === undefined) return undefined;
  return isWhole(bucket, granularity) && isWhole(partner, granularity) ? unlike : 'partial';
}

const isWhole = ({ label, from, to }: Bucket, granularity: Granularity): boolean =>
  from === label && to === lastDayOfBucket(label, granularity);

/**
 * Whether totals, and rows without a bucket, are compared. With at least seven ended days they are, even if the ranges
 * are not comparable: `unlike` and `days` then need a note.
 */
export type TotalsComparison =
  | { readonly compared: true; readonly unlike?: 'weekdays' | 'length'; readonly days?: readonly [number, number] }
  | { readonly compared: false; readonly unlike: NotComparableReason };

export function compareTotals(
  range: DateRange,
  partner: DateRange | undefined,
  { timezone, asOf, calendar }: ComparisonContext,
): TotalsComparison {
  if (!hasEnded(range, timezone, asOf)) return { compared: false, unlike: 'unfinished' };
  if (partner === undefined) return { compared: false, unlike: 'no_partner' };
  const unlike = findMismatch(range, partner, calendar);
  const shorter = Math.min(dayCount(range), dayCount(partner));
  if (unlike !== undefined && shorter < MIN_DAYS_OF_UNEQUAL_TOTALS) return { compared: false, unlike };
  const days = differentLengths(range, partner);
  return { compared: true, ...(unlike === undefined ? {} : { unlike }), ...(days === null ? {} : { days }) };
}

/** The number of days in a range and in its partner; null if they are equal. */
export function differentLengths(
  range: DateRange | undefined,
  partner: DateRange | undefined,
): readonly [number, number] | null {
  if (range === undefined || partner === undefined) return null;
  const days = [dayCount(range), dayCount(partner)] as const;
  return days[0] === days[1] ? null : days;
}

/** The same week number in the ISO year before; undefined for a week 53 that it does not have. */
function weekOfYearBefore(monday: DateTime): DateTime | undefined {
  const { weekYear, weekNumber } = monday;
  const before = DateTime.fromObject({ weekYear: weekYear - 1, weekNumber: 1, weekday: 1 }, { zone: 'utc' });
  return weekNumber > before.weeksInWeekYear ? undefined : before.plus({ weeks: weekNumber - 1 });
}

/** 52 weeks, so that weekdays match. */
const YEAR_OF_WEEKS = { days: 364 } as const;

/**
 * The days that a range is compared with; undefined for a single week 53 without a partner.
 * - `previous_period`: like the service computes it (specification §2.7)
 * - `previous_year`: for whole months, the same months a year before; for whole ISO weeks, the same number of weeks
 *   from the same week number on; otherwise the same weekdays 364 days before
 */
export function findPartner(
  range: DateRange,
  kind: ComparisonKind,
  calendar: FiscalCalendar = {},
): DateRange | undefined {
  if (kind === 'previous_period') return previousPeriod(range);
  const from = civilDate(range.from);
  const to = civilDate(range.to);
  if (countMonths(range, calendar) !== undefined) {
    // The end is computed from the day after it, because the last day of February varies.
    return {
      from: toIsoDay(from.minus({ years: 1 })),
      to: toIsoDay(to.plus({ days: 1 }).minus({ years: 1, days: 1 })),
    };
  }
  const wholeWeeks = from.weekday === 1 && to.weekday === 7;
  const week = wholeWeeks ? weekOfYearBefore(from) : undefined;
  if (wholeWeeks && week === undefined && dayCount(range) === 7) return undefined;
  const first = week ?? from.minus(YEAR_OF_WEEKS);
  return { from: toIsoDay(first), to: toIsoDay(first.plus({ days: dayCount(range) - 1 })) };
}

/**
 * The bucket a year before, cut off in the same way; undefined for a week 53 without a partner. For a day it is 364
 * days before, for a week the same ISO number, for longer buckets the same months.
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
  const isEnd = bucket.to === toIsoDay(label.endOf(granularity));
  const at = (day: string): DateTime => {
    const shifted = before.plus({ days: civilDate(day).diff(label, 'days').days });
    return shifted > end ? end : shifted;
  };
  return { label: toIsoDay(before), from: toIsoDay(at(bucket.from)), to: toIsoDay(isEnd ? end : at(bucket.to)) };
}

/** The days from the first to the last of the buckets' partners; undefined if no bucket has one. */
export function yearBeforeRange(buckets: readonly Bucket[], granularity: Granularity): DateRange | undefined {
  const partners = buckets.flatMap((bucket) => yearBefore(bucket, granularity) ?? []);
  const [first] = partners;
  const last = partners.at(-1);
  return first === undefined || last === undefined ? undefined : { from: first.from, to: last.to };
}

/**
 * The days from the start of the year or quarter in which the range ends to its last day. Quarters are those of the
 * fiscal year.
 */
export function toDateRange(
  { to }: DateRange,
  unit: ToDate,
  { fiscal_year_start: fiscal }: FiscalCalendar = {},
): DateRange {
  const last = civilDate(to);
  if (unit === 'year' || fiscal === undefined)
    return { from: toIsoDay(last.startOf(unit === 'quarter' ? 'quarter' : 'year')), to };
  const sameYear = DateTime.utc(last.year, fiscal.month, fiscal.day);
  const year = sameYear > last ? sameYear.minus({ years: 1 }) : sameYear;
  if (unit === 'fiscal_year') return { from: toIsoDay(year), to };
  const quarters = [3, 2, 1].find((count) => year.plus({ quarters: count }) <= last) ?? 0;
  return { from: toIsoDay(year.plus({ quarters })), to };
}
