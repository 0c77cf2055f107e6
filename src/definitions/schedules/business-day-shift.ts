import { businessDays, type Calendar } from './calendar.ts';
import { type CivilDay, parseCivilDay } from './civil-day.ts';
import type { Schedule } from './schedule.ts';

/** On which day a slot falls whose cron names another. */
export interface BusinessDayShift {
  /** Undefined: the slot falls away. */
  shiftDay(day: CivilDay): CivilDay | undefined;
  /** Every day of the cron whose slot can fall on one of these days is among `[first, last]` of this. */
  sourceDays(first: CivilDay, last: CivilDay): readonly [first: CivilDay, last: CivilDay];
}

type DayRules = Partial<Pick<Schedule, 'start' | 'end' | 'shift' | 'on'>>;

/**
 * What `start`, `end`, `on` and `shift` make of a cron's days. `start` and `end` are held against the day on which the slot
 * falls, not the one it came from.
 *
 * Throws `TypeError` for `on` or `shift` without a calendar: the loader refuses such a report (`scheduleFaults`).
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
    // Beyond the nearest business day outside, slots fall on that one or farther.
    sourceDays: (from, to) =>
      step === 1
        ? [days.nearestBusinessDay(from - 1, -1) ?? from, to]
        : [from, days.nearestBusinessDay(to + 1, 1) ?? to],
  };
}
