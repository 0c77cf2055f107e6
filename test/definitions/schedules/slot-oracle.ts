import { DateTime } from 'luxon';
import type { Calendar } from '../../../src/definitions/schedules/calendar.ts';
import type { RecurrenceRule } from '../../../src/definitions/schedules/slots.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;
const WALL = 'yyyy-MM-dd HH:mm';
const DAYS = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN'] as const;
const NAMES: Readonly<Record<string, number>> = { SUN: 0, MON: 1, TUE: 2, WED: 3, THU: 4, FRI: 5, SAT: 6 };

/** The values that a field of a cron lists. */
function values(field: string, low: number, high: number): ReadonlySet<number> {
  const number = (text: string) => NAMES[text] ?? Number(text);
  const all = new Set<number>();
  for (const part of field.split(',')) {
    const [range = '', step = '1'] = part.split('/');
    const ends = range.split('-').map(number);
    const [from = low, to = from] = range === '*' ? [low, high] : ends;
    for (let value = from; value <= to; value += Number(step)) all.add(value);
  }
  return all;
}

/** Every minute of a day in UTC, and what a clock in the zone shows then. */
type Walk = readonly { readonly at: number; readonly wall: string }[];
const walks = new Map<string, Walk>();

function walk(zone: string, day: number): Walk {
  const key = `${zone} ${day}`;
  const known = walks.get(key);
  if (known !== undefined) return known;
  const minutes = Array.from({ length: 1440 }, (_, minute) => {
    const at = day + minute * MINUTE;
    return { at, wall: DateTime.fromMillis(at, { zone }).toFormat(WALL) };
  });
  walks.set(key, minutes);
  return minutes;
}

const isWorked = (calendar: Calendar, date: DateTime): boolean => {
  const day = date.toFormat('yyyy-MM-dd');
  if (calendar.working_days.includes(day)) return true;
  const name = DAYS[date.weekday - 1] ?? 'MON';
  return !calendar.holidays.includes(day) && !calendar.weekend.includes(name);
};

/** The day of the slot for this date, by the rules as they are documented. */
function falls(schedule: RecurrenceRule, calendar: Calendar | undefined, date: DateTime): DateTime | undefined {
  const { shift, on } = schedule;
  if (on !== undefined && calendar !== undefined) {
    const month = Array.from({ length: date.daysInMonth ?? 0 }, (_, index) => date.set({ day: index + 1 }));
    return month
      .filter((day) => isWorked(calendar, day))
      .at(on.business_day > 0 ? on.business_day - 1 : on.business_day)?.day === date.day
      ? date
      : undefined;
  }
  let day = date;
  while (shift !== undefined && calendar !== undefined && !isWorked(calendar, day)) {
    day = day.plus({ days: shift === 'next_business_day' ? 1 : -1 });
  }
  return day;
}

/** Days around the span from which a slot may move into it. */
const SLACK_DAYS = 40;

/**
 * The slots of a schedule, found by walking through the minutes of a wall clock. Slow, and independent of the code under
 * test. The calendar must not name a country.
 */
export function slotsByWalking(
  schedule: RecurrenceRule,
  zone: string,
  calendar: Calendar | undefined,
  after: number,
  upTo: number,
): number[] {
  const [minute = '', hour = '', dayOfMonth = '', month = '', dayOfWeek = ''] = schedule.cron.split(' ');
  const minutes = [...values(minute, 0, 59)];
  const hours = [...values(hour, 0, 23)];
  const interval = hour.includes('*') || hour.includes('/') || hours.length === 24;
  const monthDays = values(dayOfMonth, 1, 31);
  const weekDays = values(dayOfWeek, 0, 7);
  const isDay = (date: DateTime) => {
    const byMonth = monthDays.has(date.day);
    const byWeek = weekDays.has(date.weekday) || weekDays.has(date.weekday % 7);
    const either = dayOfMonth !== '*' && dayOfWeek !== '*';
    return values(month, 1, 12).has(date.month) && (either ? byMonth || byWeek : byMonth && byWeek);
  };

  const first = Math.floor(after / DAY) - 2;
  const days = Math.ceil(upTo / DAY) + 2 - first;
  const shown = Array.from({ length: days }, (_, index) => walk(zone, (first + index) * DAY)).flat();
  const comings = new Map<string, number[]>();
  for (const { at, wall } of shown) comings.set(wall, [...(comings.get(wall) ?? []), at]);

  const slots = new Set<number>();
  const begin = DateTime.fromMillis(after, { zone: 'utc' }).startOf('day').minus({ days: SLACK_DAYS });
  const length = Math.ceil((upTo - after) / DAY) + 2 * SLACK_DAYS;
  for (let index = 0; index < length; index += 1) {
    const date = begin.plus({ days: index });
    if (!isDay(date)) continue;
    const on = falls(schedule, calendar, date);
    const day = on?.toFormat('yyyy-MM-dd');
    if (on === undefined || day === undefined) continue;
    // Outside of the walked minutes.
    if (day < (shown[0]?.wall.slice(0, 10) ?? '') || day > (shown.at(-1)?.wall ?? '')) continue;
    if (day < (schedule.start ?? '') || day > (schedule.end ?? '9999')) continue;
    for (const h of hours) {
      for (const m of minutes) {
        const civil = on.set({ hour: h, minute: m });
        const wall = civil.toFormat(WALL);
        const times = comings.get(wall);
        if (times !== undefined) {
          for (const at of interval ? times : times.slice(0, 1)) slots.add(at);
          continue;
        }
        const next = shown.findIndex((one) => one.wall > wall);
        const [before, behind] = [shown[next - 1], shown[next]];
        // Outside of the walked minutes.
        if (before === undefined || behind === undefined) continue;
        const since = civil.diff(DateTime.fromFormat(before.wall, WALL, { zone: 'utc' })).toMillis();
        slots.add(interval ? before.at + since : behind.at);
      }
    }
  }
  return [...slots].filter((at) => at > after && at <= upTo).sort((a, b) => a - b);
}
