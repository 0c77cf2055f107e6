import { businessDays, type Calendar } from './calendar.ts';
import { type Day, dayOf } from './day.ts';
import type { Schedule } from './schedule.ts';

/** On which day a slot falls whose cron names another. */
export interface Placing {
  /** Undefined: the slot falls away. */
  place(day: Day): Day | undefined;
  /** Every day of the cron whose slot can fall on one of these days is among `[first, last]` of this. */
  sources(first: Day, last: Day): readonly [first: Day, last: Day];
}

type Days = Partial<Pick<Schedule, 'start' | 'end' | 'shift' | 'on'>>;

/**
 * What `start`, `end`, `on` and `shift` make of a cron's days. `start` and `end` are held against the day on which the slot
 * falls, not the one it came from.
 *
 * Throws `TypeError` for `on` or `shift` without a calendar: the loader refuses such a report (`scheduleFaults`).
 */
export function placingOf({ start, end, shift, on }: Days, calendar: Calendar | undefined): Placing {
  const first = start === undefined ? Number.NEGATIVE_INFINITY : dayOf(start);
  const last = end === undefined ? Number.POSITIVE_INFINITY : dayOf(end);
  const within = (day: Day | undefined) => (day === undefined || day < first || day > last ? undefined : day);
  if (shift === undefined && on === undefined) {
    return { place: within, sources: (from, to) => [Math.max(from, first), Math.min(to, last)] };
  }
  if (calendar === undefined) throw new TypeError('a schedule with "on" or "shift" needs a calendar');
  const days = businessDays(calendar);
  if (on !== undefined) {
    return {
      place: (day) => within(days.nthOfMonth(day, on.business_day) === day ? day : undefined),
      sources: (from, to) => [Math.max(from, first), Math.min(to, last)],
    };
  }
  const step = shift === 'previous_business_day' ? -1 : 1;
  return {
    place: (day) => within(days.nearest(day, step)),
    // Beyond the nearest business day outside, slots fall on that one or farther.
    sources: (from, to) =>
      step === 1 ? [days.nearest(from - 1, -1) ?? from, to] : [from, days.nearest(to + 1, 1) ?? to],
  };
}
