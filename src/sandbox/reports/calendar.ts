import { IANAZone } from 'luxon';
import { DAY_MS, HOUR_MS } from '../../base/time.ts';
import type { Granularity } from '../../contract/report.ts';

/** A civil date as days since 1970-01-01: arithmetic on dates without any zone. */
export type DayNumber = number;

export const toDay = (date: string): DayNumber => Date.parse(`${date}T00:00:00Z`) / DAY_MS;
export const toDate = (day: DayNumber): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

/** The earliest valid date: earlier ones have no four-digit year. */
export const MIN_DAY: DayNumber = -719_162;

/** Both included. */
export interface DayRange {
  readonly from: DayNumber;
  readonly to: DayNumber;
}

export interface Bucket extends DayRange {
  /** First day of the whole bucket, which may lie before the range: a Monday for weeks, the 1st for months. */
  readonly label: DayNumber;
}

const month = (day: DayNumber, shift = 0): DayNumber => {
  const date = new Date(day * DAY_MS);
  return new Date(0).setUTCFullYear(date.getUTCFullYear(), date.getUTCMonth() + shift, 1) / DAY_MS;
};
const monday = (day: DayNumber): DayNumber => day - ((((day + 3) % 7) + 7) % 7);

/** Buckets of a range, the first and the last clipped to it (specification §2.8, rule 4). One bucket without a granularity. */
export function buckets(range: DayRange, granularity: Granularity | undefined): Bucket[] {
  if (granularity === undefined) return [{ label: range.from, ...range }];
  const whole = {
    day: (day: DayNumber) => day,
    week: monday,
    month: (day: DayNumber) => month(day),
  }[granularity];
  const next = {
    day: (day: DayNumber) => day + 1,
    week: (day: DayNumber) => day + 7,
    month: (day: DayNumber) => month(day, 1),
  }[granularity];
  const found: Bucket[] = [];
  for (let label = whole(range.from); label <= range.to; label = next(label)) {
    found.push({ label, from: Math.max(label, range.from), to: Math.min(next(label) - 1, range.to) });
  }
  return found;
}

/** The previous period: as many months for whole calendar months, else as many days (specification §2.7). */
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
 * Whether it is a canonical name of the IANA database: `europe/zurich` and `+02:00` are not, although the platform
 * accepts them.
 */
export const isZone = (name: string): boolean =>
  /^[A-Z][A-Za-z0-9_+-]*(\/[A-Z][A-Za-z0-9_+-]*)*$/.test(name) && IANAZone.isValidZone(name);

/** Starts of days in a zone. */
export interface ZoneDays {
  /** The first instant (epoch ms) whose local date is `day`, or later if the zone skipped that day. */
  start(day: DayNumber): number;
  /** The local date of an instant. */
  of(instant: number): DayNumber;
}

export function zoneDays(name: string): ZoneDays {
  const zone = IANAZone.create(name);
  const known = new Map<DayNumber, number>();
  const of = (instant: number): DayNumber => Math.floor((instant + zone.offset(instant) * 60_000) / DAY_MS);
  const find = (day: DayNumber): number => {
    const midnight = day * DAY_MS;
    const before = zone.offset(midnight - 36 * HOUR_MS);
    if (before === zone.offset(midnight + 36 * HOUR_MS)) return midnight - before * 60_000;
    // Near an offset change midnight may be missing or occur twice: search the first instant of the day.
    let low = midnight - 36 * HOUR_MS;
    let high = midnight + 36 * HOUR_MS;
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
