import { createRequire } from 'node:module';
import type Holidays from 'date-holidays';
import { DAY_MS, type Day, dayOf } from './day.ts';

/** The years of which the library knows all calendars: its Islamic years end in 2077, its Hebrew ones begin in 1970. */
export const HOLIDAY_YEARS = { first: 1970, last: 2076 } as const;

/** A country, and where in it: `ZH`, or `BY-A` for a part of `BY`. */
export interface Place {
  readonly country: string;
  readonly region?: string | undefined;
}

const require = createRequire(import.meta.url);
/** The library's data are megabytes and take a quarter of a second: it is loaded when the first country is asked for. */
function library(): typeof Holidays {
  const Library: typeof Holidays = require('date-holidays');
  return Library;
}

const openPlace = ({ country, region }: Place): Holidays => {
  const Library = library();
  const [state, part] = region?.split('-') ?? [];
  if (state === undefined) return new Library(country, { languages: 'en' });
  if (part === undefined) return new Library(country, state, { languages: 'en' });
  return new Library(country, state, part, { languages: 'en' });
};

/** A day on which clocks are put forward is a day all the same; the half day after three whole ones is none. */
const CLOCK_CHANGE_MS = 2 * 3_600_000;

// A year takes the library up to a tenth of a second and is always the same: kept for the process, whoever asks.
const kept = new Map<string, ReadonlySet<Day>>();

/**
 * The public holidays of a year that last whole days, each of their days. What banks, schools or half a day keep is none.
 * @param place known (`placeFault`)
 * @param year one of `HOLIDAY_YEARS`
 */
export function publicHolidays(place: Place, year: number): ReadonlySet<Day> {
  const key = `${place.country} ${place.region ?? ''} ${year}`;
  const known = kept.get(key);
  if (known !== undefined) return known;
  const days = new Set<Day>();
  for (const { date, start, end, type } of openPlace(place).getHolidays(year)) {
    // `2026-03-20 00:00:00 -0600` begins on the evening before, and is the day all the same.
    if (type !== 'public' || !date.includes(' 00:00:00')) continue;
    const length = Math.floor((end.getTime() - start.getTime() + CLOCK_CHANGE_MS) / DAY_MS);
    for (let day = 0; day < length; day += 1) days.add(dayOf(date.slice(0, 10)) + day);
  }
  kept.set(key, days);
  return days;
}

/** Countries by code (ISO 3166-1) with their English names. */
export const countries = (): Readonly<Record<string, string>> => new (library())().getCountries('en');

/** The regions of a known country, and parts of regions (`BY-A`), with their English names. */
export function regionsOf(country: string): Readonly<Record<string, string>> {
  const all = new (library())();
  const regions = all.getStates(country, 'en') ?? {};
  const parts = Object.keys(regions).flatMap((region) =>
    Object.entries(all.getRegions(country, region, 'en') ?? {}).map(([part, name]) => [`${region}-${part}`, name]),
  );
  return { ...regions, ...Object.fromEntries(parts) };
}
