import { z } from 'zod';
import { DAY_MS, type Day, dayOf, monthOf, WEEKDAYS, weekdayOf } from './day.ts';
import { HOLIDAY_YEARS, publicHolidays } from './holidays.ts';
import { lineSchema } from './words.ts';

const MOST_DATES = 1000;
const datesSchema = z.array(z.iso.date('a date, YYYY-MM-DD')).max(MOST_DATES).default([]);

/** Which days an organization works. */
export const calendarSchema = z
  .strictObject({
    country: lineSchema(60)
      .optional()
      .describe('Its public holidays are no business days: two letters (ISO 3166-1), e.g. CH. Absent: none are.'),
    region: lineSchema(20).optional().describe("The country's region, e.g. ZH, or a part of one, e.g. BY-A."),
    holidays: datesSchema.describe('Further days off, YYYY-MM-DD.'),
    working_days: datesSchema.describe('Days that are business days whatever else says no.'),
    weekend: z
      .array(z.enum(WEEKDAYS))
      .max(6)
      .default(['SAT', 'SUN'])
      .describe('The days of each week that are off; [SAT, SUN] by default.'),
  })
  .superRefine(({ country, region, holidays, working_days }, context) => {
    if (region !== undefined && country === undefined) {
      const params = { next: 'add "country", or remove "region"' };
      context.addIssue({ code: 'custom', path: ['region'], message: 'a region only beside a country', params });
    }
    const off = new Set(holidays);
    working_days.forEach((date, index) => {
      if (!off.has(date)) return;
      const params = { next: 'remove it from one of the two' };
      const message = 'a date that is not among "holidays" too';
      context.addIssue({ code: 'custom', path: ['working_days', index], message, params });
    });
  });
export type Calendar = z.infer<typeof calendarSchema>;

/** Answers about days; undefined where the country's holidays are not known any more (`HOLIDAY_YEARS`). */
export interface BusinessDays {
  isBusinessDay(day: Day): boolean | undefined;
  /** The day itself when it is one, else the nearest after it (`step` 1) or before it (-1). */
  nearest(day: Day, step: 1 | -1): Day | undefined;
  /** The n-th business day of the day's month, from its end when `n` is negative; undefined also where it has fewer. */
  nthOfMonth(day: Day, n: number): Day | undefined;
}

export function businessDays({ country, region, holidays, working_days, weekend }: Calendar): BusinessDays {
  const off = new Set(holidays.map(dayOf));
  const on = new Set(working_days.map(dayOf));
  const free = new Set(weekend.map((name) => WEEKDAYS.indexOf(name)));

  const isBusinessDay = (day: Day): boolean | undefined => {
    const year = new Date(day * DAY_MS).getUTCFullYear();
    if (country !== undefined && (year < HOLIDAY_YEARS.first || year > HOLIDAY_YEARS.last)) return undefined;
    if (on.has(day)) return true;
    if (free.has(weekdayOf(day)) || off.has(day)) return false;
    return country === undefined || !publicHolidays({ country, region }, year).has(day);
  };
  // Ends: a week has a day that is not free, and the lists of dates are finite.
  const nearest = (day: Day, step: 1 | -1): Day | undefined => {
    for (let at = day; ; at += step) {
      const is = isBusinessDay(at);
      if (is !== false) return is === undefined ? undefined : at;
    }
  };
  return {
    isBusinessDay,
    nearest,
    nthOfMonth: (day, n) => {
      const { first, next } = monthOf(day);
      const step = n > 0 ? 1 : -1;
      let left = Math.abs(n);
      for (let at = n > 0 ? first : next - 1; at >= first && at < next; at += step) {
        const is = isBusinessDay(at);
        if (is === undefined) return undefined;
        if (is) left -= 1;
        if (left === 0) return at;
      }
      return undefined;
    },
  };
}
