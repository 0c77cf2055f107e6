import { DateTime } from 'luxon';
import { memoize } from '../base/memoize.ts';
import { DAY_MS } from '../base/time.ts';
import type { Granularity } from '../contract/report.ts';
import { civilDate } from '../definitions/periods/period.ts';

/** Civil dates; both ends are included. */
export interface DateRange {
  readonly from: string;
  readonly to: string;
}

export interface Bucket extends DateRange {
  /** First day of the whole bucket, which may be before the range: a Monday for weeks, the 1st for months. */
  readonly label: string;
}

// Civil dates are computed in UTC, where every day exists and has 24 hours.
export const toIsoDay = (day: DateTime): string => day.toFormat('yyyy-MM-dd');
const earlier = (a: string, b: string): string => (a < b ? a : b);
const later = (a: string, b: string): string => (a < b ? b : a);

/** The slots of a forecast need the ends of the same days. */
const MAX_CACHED_DAYS = 500;

/** The first instant (epoch ms) after a day in its zone, which may have 23 or 25 hours. */
export const endOfDay = memoize(
  (day: string, zone: string = 'UTC'): number =>
    DateTime.fromISO(day, { zone }).plus({ days: 1 }).startOf('day').toMillis(),
  MAX_CACHED_DAYS,
);

/** The first instant (epoch ms) of a day in its zone. */
export const startOfDay = (day: string, zone = 'UTC'): number =>
  DateTime.fromISO(day, { zone }).startOf('day').toMillis();

/** Whether two ranges cover the same days, or both are absent. */
export const sameDays = (one: DateRange | null | undefined, other: DateRange | null | undefined): boolean =>
  one?.from === other?.from && one?.to === other?.to;

/** The number of days in a range, both ends included. */
export const dayCount = ({ from, to }: DateRange): number =>
  Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1;

/**
 * The buckets of a range. The first and the last are clipped to it (specification §2.8, rule 4). Without a granularity
 * there is one: the range itself. Computed like in the service, because a response without groups has no rows with
 * buckets.
 */
export const buildBuckets = ({ from, to }: DateRange, granularity: Granularity | undefined): readonly Bucket[] =>
  granularity === undefined ? [{ label: from, from, to }] : bucketsBetween(from, to, granularity);

/** The last day of the whole bucket with this label, which may be after the range. */
export const lastDayOfBucket = (label: string, granularity: Granularity): string =>
  toIsoDay(civilDate(label).endOf(granularity));

/** Calls, responses and tables of a run need the same few ranges, and computing a year of days takes milliseconds. */
const MAX_CACHED_RANGES = 200;

const bucketsBetween = memoize((from: string, to: string, granularity: Granularity): readonly Bucket[] => {
  const found: Bucket[] = [];
  for (
    let start = civilDate(from).startOf(granularity);
    toIsoDay(start) <= to;
    start = start.plus({ [granularity]: 1 })
  ) {
    const label = toIsoDay(start);
    found.push(Object.freeze({ label, from: later(label, from), to: earlier(toIsoDay(start.endOf(granularity)), to) }));
  }
  return Object.freeze(found);
}, MAX_CACHED_RANGES);

/**
 * The previous period: for whole calendar months the same number of months, otherwise the same number of days
 * (specification §2.7, `compare`).
 */
export function previousPeriod(range: DateRange): DateRange {
  const from = civilDate(range.from);
  const to = toIsoDay(from.minus({ days: 1 }));
  const after = civilDate(range.to).plus({ days: 1 });
  const whole = from.day === 1 && after.day === 1;
  const months = (after.year - from.year) * 12 + after.month - from.month;
  return { from: toIsoDay(from.minus(whole ? { months } : { days: dayCount(range) })), to };
}

/** Consecutive buckets that one call can cover. */
export interface RangeSlice extends DateRange {
  /** Index of the slice's first bucket in the whole range. */
  readonly first: number;
  readonly buckets: number;
}

/**
 * The fewest slices of at most `maxDays` days and `maxBuckets` buckets each. It splits only between buckets, so that
 * each value is the service's own. Undefined if a single bucket is too long.
 */
export function sliceBuckets(
  buckets: readonly Bucket[],
  maxDays: number,
  maxBuckets: number,
): RangeSlice[] | undefined {
  const slices: RangeSlice[] = [];
  for (const [index, bucket] of buckets.entries()) {
    if (dayCount(bucket) > maxDays) return undefined;
    const last = slices.at(-1);
    if (last !== undefined && last.buckets < maxBuckets && dayCount({ from: last.from, to: bucket.to }) <= maxDays) {
      slices[slices.length - 1] = { ...last, to: bucket.to, buckets: last.buckets + 1 };
    } else {
      slices.push({ from: bucket.from, to: bucket.to, first: index, buckets: 1 });
    }
  }
  return slices;
}

/** Slices of a range without granularity, split between days. All of them belong to the same rows. */
export function sliceRollup({ from, to }: DateRange, maxDays: number): RangeSlice[] {
  const slices: RangeSlice[] = [];
  for (let start = from; start <= to; ) {
    const end = earlier(toIsoDay(civilDate(start).plus({ days: maxDays - 1 })), to);
    slices.push({ from: start, to: end, first: 0, buckets: 1 });
    start = toIsoDay(civilDate(end).plus({ days: 1 }));
  }
  return slices;
}
