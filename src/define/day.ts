/**
 * A civil day as a number: days since 1970-01-01. Arithmetic on it knows neither zones nor hours, which is what days of a
 * calendar are.
 */
export type Day = number;

export const DAY_MS = 86_400_000;

/** @param date YYYY-MM-DD, a date that exists */
export const dayOf = (date: string): Day => Date.parse(`${date}T00:00Z`) / DAY_MS;

/** YYYY-MM-DD */
export const dateOf = (day: Day): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

export const WEEKDAYS = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** 0 is Monday. */
export const weekdayOf = (day: Day): number => (((day + 3) % 7) + 7) % 7;

/** The first days of a day's month and of the next one. */
export function monthOf(day: Day): { readonly first: Day; readonly next: Day } {
  const date = new Date(day * DAY_MS);
  const first = (month: number) => Date.UTC(date.getUTCFullYear(), month, 1) / DAY_MS;
  return { first: first(date.getUTCMonth()), next: first(date.getUTCMonth() + 1) };
}
