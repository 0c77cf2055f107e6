import { DAY_MS } from '../../base/time.ts';

/** A civil day as days since 1970-01-01, independent of time zones. */
export type CivilDay = number;

/** @param date YYYY-MM-DD, a date that exists */
export const parseCivilDay = (date: string): CivilDay => Date.parse(`${date}T00:00Z`) / DAY_MS;

/** YYYY-MM-DD */
export const formatCivilDay = (day: CivilDay): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

export const WEEKDAYS = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN'] as const;

/** 0 is Monday. */
export const getWeekday = (day: CivilDay): number => (((day + 3) % 7) + 7) % 7;

/** The first days of the day's month and of the next month. */
export function monthBounds(day: CivilDay): { readonly first: CivilDay; readonly next: CivilDay } {
  const date = new Date(day * DAY_MS);
  const first = (month: number) => Date.UTC(date.getUTCFullYear(), month, 1) / DAY_MS;
  return { first: first(date.getUTCMonth()), next: first(date.getUTCMonth() + 1) };
}
