import { DateTime } from 'luxon';
import type { Granularity } from '../contract/report.ts';

/** Civil dates, both included. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

export interface Bucket extends Days {
  /** First day of the whole bucket, which may lie before the range: a Monday for weeks, the 1st for months. */
  readonly label: string;
}

// Civil dates have no zone and no daylight saving: they are counted in UTC, where every day exists and has 24 hours.
const civil = (date: string): DateTime => DateTime.fromISO(date, { zone: 'utc' });
const dateOf = (day: DateTime): string => day.toFormat('yyyy-MM-dd');
const earlier = (a: string, b: string): string => (a < b ? a : b);
const later = (a: string, b: string): string => (a < b ? b : a);

/** Days of a range, both ends included. */
export const daysOf = ({ from, to }: Days): number => Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000) + 1;

/**
 * The buckets of a range, the first and the last cut to it (specification §2.8, rule 4); one, the range itself, without
 * a granularity. The service's own reckoning, done here because an answer without groups has no rows to read it from.
 */
export function bucketsOf({ from, to }: Days, granularity: Granularity | undefined): Bucket[] {
  if (granularity === undefined) return [{ label: from, from, to }];
  const found: Bucket[] = [];
  for (let start = civil(from).startOf(granularity); dateOf(start) <= to; start = start.plus({ [granularity]: 1 })) {
    const label = dateOf(start);
    found.push({ label, from: later(label, from), to: earlier(dateOf(start.endOf(granularity)), to) });
  }
  return found;
}

/** Whole calendar months go back by as many months, any other range by as many days (specification §2.7, `compare`). */
export function previousPeriod(range: Days): Days {
  const from = civil(range.from);
  const to = dateOf(from.minus({ days: 1 }));
  const after = civil(range.to).plus({ days: 1 });
  const whole = from.day === 1 && after.day === 1;
  const months = (after.year - from.year) * 12 + after.month - from.month;
  return { from: dateOf(from.minus(whole ? { months } : { days: daysOf(range) })), to };
}

/** Neighbouring buckets that one call can be asked for. */
export interface Slice extends Days {
  /** Place of its first bucket among those of the whole range. */
  readonly first: number;
  readonly buckets: number;
}

/**
 * The fewest slices of at most `maxDays` days and `maxBuckets` buckets each, cut between buckets, because the figure of
 * a bucket cut in two would be the service's no more. Undefined when a single bucket is too long.
 */
export function slicesOf(buckets: readonly Bucket[], maxDays: number, maxBuckets: number): Slice[] | undefined {
  const slices: Slice[] = [];
  for (const [index, bucket] of buckets.entries()) {
    if (daysOf(bucket) > maxDays) return undefined;
    const open = slices.at(-1);
    if (open !== undefined && open.buckets < maxBuckets && daysOf({ from: open.from, to: bucket.to }) <= maxDays) {
      slices[slices.length - 1] = { ...open, to: bucket.to, buckets: open.buckets + 1 };
    } else {
      slices.push({ from: bucket.from, to: bucket.to, first: index, buckets: 1 });
    }
  }
  return slices;
}

/** A range that folds into one row a group, cut between days: its parts all belong to that row. */
export function foldsOf({ from, to }: Days, maxDays: number): Slice[] {
  const folds: Slice[] = [];
  for (let start = from; start <= to; ) {
    const end = earlier(dateOf(civil(start).plus({ days: maxDays - 1 })), to);
    folds.push({ from: start, to: end, first: 0, buckets: 1 });
    start = dateOf(civil(end).plus({ days: 1 }));
  }
  return folds;
}
