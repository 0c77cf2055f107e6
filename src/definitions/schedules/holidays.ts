import { createRequire } from 'node:module';
import type Holidays from 'date-holidays';
import { DAY_MS, HOUR_MS } from '../../base/time.ts';
import { type CivilDay, parseCivilDay } from './civil-day.ts';

/** The years for which the library has all calendars: Islamic ones end in 2077, and Hebrew ones begin in 1970. */
export const HOLIDAY_YEARS = { first: 1970, last: 2076 } as const;

/** A country and region, e.g. `ZH`, or `BY-A` for a part of `BY`. */
export interface HolidayRegion {
  readonly country: string;
  readonly region?: string | undefined;
}

const require = createRequire(import.meta.url);
/** Loaded only when needed: its data has megabytes and takes a quarter of a second. */
function library(): typeof Holidays {
  const Library: typeof Holidays = require('date-holidays');
  return Library;
}

const openRegion = ({ country, region }: HolidayRegion): Holidays => {
  const Library = library();
  const [state, part] = region?.split('-') ?? [];
  if (state === undefined) return new Library(country, { languages: 'en' });
  if (part === undefined) return new Library(country, state, { languages: 'en' });
  return new Library(country, state, part, { languages: 'en' });
};

/** A day on which clocks change counts as a whole day, but a half day does not. */
const DST_TOLERANCE_MS = 2 * HOUR_MS;

// Cached, because a year takes the library up to 100 ms.
const holidayCache = new Map<string, ReadonlySet<CivilDay>>();

/**
 * All days of a year's public holidays that last whole days. Bank, school and half-day holidays are not included.
 * @param place a known place (`calendarDiagnostics`)
 * @param year one of `HOLIDAY_YEARS`
 */
export function publicHolidays(place: HolidayRegion, year: number): ReadonlySet<CivilDay> {
  const key = `${place.country} ${place.region ?? ''} ${year}`;
  const known = holidayCache.get(key);
  if (known !== undefined) return known;
  const days = new Set<CivilDay>();
  for (const { date, start, end, type } of openRegion(place).getHolidays(year)) {
    // `2026-03-20 00:00:00 -0600` begins on the evening before, but still is this day.
    if (type !== 'public' || !date.includes(' 00:00:00')) continue;
    const length = Math.floor((end.getTime() - start.getTime() + DST_TOLERANCE_MS) / DAY_MS);
    for (let day = 0; day < length; day += 1) days.add(parseCivilDay(date.slice(0, 10)) + day);
  }
  holidayCache.set(key, days);
  return days;
}

/** Countries by code (ISO 3166-1) with their English names. */
export const countries = (): Readonly<Record<string, string>> => new (library())().getCountries('en');

/** The regions of a known country, and parts of regions (`BY-A`), with their English names. */
export function collectRegions(country: string): Readonly<Record<string, string>> {
  const all = new (library())();
  const regions = all.getStates(country, 'en') ?? {};
  const parts = Object.keys(regions).flatMap((region) =>
    Object.entries(all.getRegions(country, region, 'en') ?? {}).map(([part, name]) => [`${region}-${part}`, name]),
  );
  return { ...regions, ...Object.fromEntries(parts) };
}
