import { IANAZone } from 'luxon';
import { memoize } from '../../base/memoize.ts';
import { DAY_MS, HOUR_MS } from '../../base/time.ts';
import type { Granularity } from '../../contract/report.ts';
import { firstIndex } from '../generator/fact-tables.ts';

/** A civil date as days since 1970-01-01, for date arithmetic without a time zone. */
export type DayNumber = number;

export const toDay = (date: string): DayNumber => Date.parse(`${date}T00:00:00Z`) / DAY_MS;
export const toDate = (day: DayNumber): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

/** The earliest valid date. Earlier ones have no four-digit year. */
export const MIN_DAY: DayNumber = -719_162;

/** Both ends are included. */
export interface DayRange {
  readonly from: DayNumber;
  readonly to: DayNumber;
}

export interface Bucket extends DayRange {
  /** First day of the whole bucket, which may be before the range: a Monday for weeks, the 1st for months. */
  readonly label: DayNumber;
}

const month = (day: DayNumber, shift = 0): DayNumber => {
  const date = new Date(day * DAY_MS);
  return new Date(0).setUTCFullYear(date.getUTCFullYear(), date.getUTCMonth() + shift, 1) / DAY_MS;
};
const monday = (day: DayNumber): DayNumber => day - ((((day + 3) % 7) + 7) % 7);
/** The first day of the bucket of a day, and of the bucket after it. */
const CALENDARS = {
  day: { first: (day: DayNumber) => day, next: (day: DayNumber) => day + 1 },
  week: { first: monday, next: (day: DayNumber) => day + 7 },
  month: { first: (day: DayNumber) => month(day), next: (day: DayNumber) => month(day, 1) },
} as const satisfies Record<Granularity, unknown>;

/**
 * The buckets of a range. The first and the last are clipped to it (specification §2.8, rule 4). One bucket without a
 * granularity.
 */
export function buckets(range: DayRange, granularity: Granularity | undefined): Bucket[] {
  if (granularity === undefined) return [{ label: range.from, ...range }];
  const { first, next } = CALENDARS[granularity];
  const found: Bucket[] = [];
  for (let label = first(range.from); label <= range.to; label = next(label)) {
    found.push({ label, from: Math.max(label, range.from), to: Math.min(next(label) - 1, range.to) });
  }
  return found;
}

/**
 * The previous period: for whole calendar months the same number of months, otherwise the same number of days
 * (specification §2.7).
 */
export function previousPeriod({ from, to }: DayRange): DayRange {
  if (from === month(from) && to + 1 === month(to + 1)) {
    const first = new Date(from * DAY_MS);
    const last = new Date(to * DAY_MS);
    const months = (last.getUTCFullYear() - first.getUTCFullYear()) * 12 + last.getUTCMonth() - first.getUTCMonth() + 1;
    return { from: month(from, -months), to: from - 1 };
  }
  return { from: from - (to - from + 1), to: from - 1 };
}

/**
 * Whether it is a canonical name in the IANA database. `europe/zurich` and `+02:00` are not, although the platform
 * accepts them.
 */
export const isZone = (name: string): boolean =>
  /^[A-Z][A-Za-z0-9_+-]*(\/[A-Z][A-Za-z0-9_+-]*)*$/.test(name) && IANAZone.isValidZone(name);

/** Finds the starts of days in a time zone. */
export type ZoneDays = ReturnType<typeof zoneDays>;

/** Several years of one time zone. */
const MAX_CACHED_DAYS = 10_000;

export function zoneDays(name: string) {
  const zone = IANAZone.create(name);
  const of = (instant: number): DayNumber => Math.floor((instant + zone.offset(instant) * 60_000) / DAY_MS);
  const find = (day: DayNumber): number => {
    const midnight = day * DAY_MS;
    const before = zone.offset(midnight - 36 * HOUR_MS);
    if (before === zone.offset(midnight + 36 * HOUR_MS)) return midnight - before * 60_000;
    // Near a change of the offset, midnight may be missing or occur twice, so the first instant of the day is searched
    // for.
    const earliest = midnight - 36 * HOUR_MS;
    return earliest + firstIndex(72 * HOUR_MS, (ms) => of(earliest + ms) >= day);
  };
  return {
    /** The local date of an instant. */
    of /** The first instant (epoch ms) with the local date `day`, or a later one if the zone skipped that day. */,
    start: memoize(find, MAX_CACHED_DAYS),
  };
}
