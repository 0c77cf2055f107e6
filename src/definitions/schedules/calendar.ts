import { z } from 'zod';
import { DAY_MS } from '../../base/time.ts';
import { lineSchema } from '../schema/values/primitives.ts';
import { type CivilDay, getWeekday, monthBounds, parseCivilDay, WEEKDAYS } from './civil-day.ts';
import { HOLIDAY_YEARS, publicHolidays } from './holidays.ts';

const MAX_DATES = 1000;
const datesSchema = z.array(z.iso.date('a date, YYYY-MM-DD')).max(MAX_DATES).default([]);

/** The calendar of an organization's business days. */
export const calendarSchema = z
  .strictObject({
    country: lineSchema(60)
      .optional()
      .describe('Country whose public holidays are no business days, ISO 3166-1, e.g. CH. Default: no holidays.'),
    region: lineSchema(20).optional().describe("The country's region, e.g. ZH, or a part of one, e.g. BY-A."),
    holidays: datesSchema.describe('Further days off, YYYY-MM-DD.'),
    working_days: datesSchema.describe('Business days even on a weekend or public holiday.'),
    weekend: z.array(z.enum(WEEKDAYS)).max(6).default(['SAT', 'SUN']).describe('Weekdays off; [SAT, SUN] by default.'),
  })
  .superRefine(({ country, region, holidays, working_days }, context) => {
    if (region !== undefined && country === undefined) {
      const params = { next: 'add "country", or remove "region"' };
      context.addIssue({ code: 'custom', path: ['region'], message: 'a region only beside a country', params });
    }
    const holidayDays = new Set(holidays);
    working_days.forEach((date, index) => {
      if (!holidayDays.has(date)) return;
      const params = { next: 'remove it from one of the two' };
      const message = 'a date that is not among "holidays" too';
      context.addIssue({ code: 'custom', path: ['working_days', index], message, params });
    });
  });
export type Calendar = z.infer<typeof calendarSchema>;

/** Finds business days. Results are undefined if the country's holidays are unknown for the year (`HOLIDAY_YEARS`). */
export type BusinessDays = ReturnType<typeof businessDays>;

export function businessDays({ country, region, holidays, working_days, weekend }: Calendar) {
  const holidayDays = new Set(holidays.map(parseCivilDay));
  const workingDays = new Set(working_days.map(parseCivilDay));
  const weekendDays = new Set(weekend.map((name) => WEEKDAYS.indexOf(name)));

  const isBusinessDay = (day: CivilDay): boolean | undefined => {
    const year = new Date(day * DAY_MS).getUTCFullYear();
    if (country !== undefined && (year < HOLIDAY_YEARS.first || year > HOLIDAY_YEARS.last)) return undefined;
    if (workingDays.has(day)) return true;
    if (weekendDays.has(getWeekday(day)) || holidayDays.has(day)) return false;
    return country === undefined || !publicHolidays({ country, region }, year).has(day);
  };
  // The loop ends, because a week has at most six weekend days, and the lists of dates are finite.
  const nearestBusinessDay = (day: CivilDay, step: 1 | -1): CivilDay | undefined => {
    for (let at = day; ; at += step) {
      const is = isBusinessDay(at);
      if (is !== false) return is === undefined ? undefined : at;
    }
  };
  return {
    isBusinessDay,
    /** The day itself if it is a business day, otherwise the nearest one after it (`step` 1) or before it (-1). */
    nearestBusinessDay,
    /**
     * The n-th business day of the day's month, counted from its end if `n` is negative; undefined if there are fewer.
     */
    nthBusinessDayOfMonth: (day: CivilDay, n: number): CivilDay | undefined => {
      const { first, next } = monthBounds(day);
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
