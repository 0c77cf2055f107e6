import { businessDays, type Calendar } from './calendar.ts';
import { type CivilDay, parseCivilDay } from './civil-day.ts';
import type { Schedule } from './schedule.ts';

/** Moves the days of a cron to business days. */
export interface BusinessDayShift {
  /** Undefined: the slot is skipped. */
  shiftDay(day: CivilDay): CivilDay | undefined;
  /** Range of the cron's days whose slots can fall between `first` and `last`. */
  sourceDays(first: CivilDay, last: CivilDay): readonly [first: CivilDay, last: CivilDay];
}

type DayRules = Partial<Pick<Schedule, 'start' | 'end' | 'shift' | 'on'>>;

/**
 * Applies `start`, `end`, `on` and `shift` to the days of a cron. `start` and `end` apply to the shifted day.
 *
 * Throws `TypeError` for `on` or `shift` without a calendar: `scheduleDiagnostics` reports such a definition.
 */
export function businessDayShift(
  { start, end, shift, on }: DayRules,
  calendar: Calendar | undefined,
): BusinessDayShift {
  const first = start === undefined ? Number.NEGATIVE_INFINITY : parseCivilDay(start);
  const last = end === undefined ? Number.POSITIVE_INFINITY : parseCivilDay(end);
  const within = (day: CivilDay | undefined) => (day === undefined || day < first || day > last ? undefined : day);
  if (shift === undefined && on === undefined) {
    return { shiftDay: within, sourceDays: (from, to) => [Math.max(from, first), Math.min(to, last)] };
  }
  if (calendar === undefined) throw new TypeError('a schedule with "on" or "shift" needs a calendar');
  const days = businessDays(calendar);
  if (on !== undefined) {
    return {
      shiftDay: (day) => within(days.nthBusinessDayOfMonth(day, on.business_day) === day ? day : undefined),
      sourceDays: (from, to) => [Math.max(from, first), Math.min(to, last)],
    };
  }
  const step = shift === 'previous_business_day' ? -1 : 1;
  return {
    shiftDay: (day) => within(days.nearestBusinessDay(day, step)),
    // Days off between the range and the nearest business day outside it shift into the range.
    sourceDays: (from, to) =>
      step === 1
        ? [days.nearestBusinessDay(from - 1, -1) ?? from, to]
        : [from, days.nearestBusinessDay(to + 1, 1) ?? to],
  };
}
