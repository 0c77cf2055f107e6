import { IANAZone } from 'luxon';
import type { Granularity } from '../contract/report.ts';

const DAY = 86_400_000;
const HOUR = 3_600_000;

/** A civil date as days since 1970-01-01: arithmetic on dates without any zone. */
export type Day = number;

export const toDay = (date: string): Day => Date.parse(`${date}T00:00:00Z`) / DAY;
export const toDate = (day: Day): string => new Date(day * DAY).toISOString().slice(0, 10);

/** The oldest date that can be asked; earlier ones have no four-digit year. */
export const OLDEST: Day = -719_162;

/** Both included. */
export interface DayRange {
  readonly from: Day;
  readonly to: Day;
}

export interface Bucket extends DayRange {
  /** First day of the whole bucket, which may lie before the range: a Monday for weeks, the 1st for months. */
  readonly label: Day;
}

const month = (day: Day, shift = 0): Day => {
  const date = new Date(day * DAY);
  return new Date(0).setUTCFullYear(date.getUTCFullYear(), date.getUTCMonth() + shift, 1) / DAY;
};
const monday = (day: Day): Day => day - ((((day + 3) % 7) + 7) % 7);

/** Buckets of a range, the first and the last cut to it (specification §2.8, rule 4). One bucket without a granularity. */
export function buckets(range: DayRange, granularity: Granularity | undefined): Bucket[] {
  if (granularity === undefined) return [{ label: range.from, ...range }];
  const whole = {
    day: (day: Day) => day,
    week: monday,
    month: (day: Day) => month(day),
  }[granularity];
  const next = {
    day: (day: Day) => day + 1,
    week: (day: Day) => day + 7,
    month: (day: Day) => month(day, 1),
  }[granularity];
  const found: Bucket[] = [];
  for (let label = whole(range.from); label <= range.to; label = next(label)) {
    found.push({ label, from: Math.max(label, range.from), to: Math.min(next(label) - 1, range.to) });
  }
  return found;
}

/** Whole calendar months go back by as many months, any other range by as many days (specification §2.7). */
export function previousPeriod({ from, to }: DayRange): DayRange {
  if (from === month(from) && to + 1 === month(to + 1)) {
    const first = new Date(from * DAY);
    const last = new Date(to * DAY);
    const months = (last.getUTCFullYear() - first.getUTCFullYear()) * 12 + last.getUTCMonth() - first.getUTCMonth() + 1;
    return { from: month(from, -months), to: from - 1 };
  }
  return { from: from - (to - from + 1), to: from - 1 };
}

/**
 * A name of the IANA database, written as the database writes it: `europe/zurich` and `+02:00` are not, though the
 * platform would take them.
 */
export const isZone = (name: string): boolean =>
  /^[A-Z][A-Za-z0-9_+-]*(\/[A-Z][A-Za-z0-9_+-]*)*$/.test(name) && IANAZone.isValidZone(name);

/** Where the days of one zone begin. */
export interface ZoneDays {
  /** The first instant (epoch ms) whose local date is `day`, or later when the zone skipped that day. */
  start(day: Day): number;
  /** The local date of an instant. */
  of(instant: number): Day;
}

export function zoneDays(name: string): ZoneDays {
  const zone = IANAZone.create(name);
  const known = new Map<Day, number>();
  const of = (instant: number): Day => Math.floor((instant + zone.offset(instant) * 60_000) / DAY);
  const find = (day: Day): number => {
    const midnight = day * DAY;
    const before = zone.offset(midnight - 36 * HOUR);
    if (before === zone.offset(midnight + 36 * HOUR)) return midnight - before * 60_000;
    // The offset changes nearby: midnight may be missing or come twice, so the first instant of the day is searched.
    let low = midnight - 36 * HOUR;
    let high = midnight + 36 * HOUR;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (of(middle) >= day) high = middle;
      else low = middle;
    }
    return high;
  };
  return {
    of,
    start(day) {
      const held = known.get(day);
      if (held !== undefined) return held;
      const found = find(day);
      known.set(day, found);
      return found;
    },
  };
}
