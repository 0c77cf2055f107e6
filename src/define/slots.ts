import { z } from 'zod';
import { type Calendar, calendarSchema } from './calendar.ts';
import { readCron } from './cron.ts';
import { DAY_MS } from './day.ts';
import type { OrgSettings } from './org.ts';
import { placingOf } from './placing.ts';
import { type Schedule, scheduleSchema } from './schedule.ts';
import { zoneSchema } from './zone.ts';
import { instantsOf, offsetsOf } from './zone-time.ts';

export { cronFault } from './cron.ts';

/** What of a schedule says when its slots are. */
export type Timing = Pick<Schedule, 'cron'> & Partial<Pick<Schedule, 'start' | 'end' | 'shift' | 'on'>>;

const MINUTE_MS = 60_000;
/** Where to stop looking for the next slot: 29 February on one day of the week comes back within 40 years. */
const HORIZON_MS = 50 * 366 * DAY_MS;

/**
 * The slots of one schedule, to be asked for in spans: `after` < slot ≤ `upTo`, ascending, in epoch ms.
 *
 * The cron is read on a calendar without zones. Its days are moved or left out (`placingOf`), and only then its times
 * become instants of the zone (`instantsOf`), so that a slot that moves keeps its local time.
 */
function slotsOf(schedule: Timing, zone: string, calendar: Calendar | undefined) {
  const cron = readCron(schedule.cron);
  const offsetAt = offsetsOf(zone);
  const { place, sources } = placingOf(schedule, calendar);
  const between = (after: number, upTo: number): number[] => {
    if (upTo <= after) return [];
    // What is skipped here may have been due by the offset of the day before.
    const offsets = [after - DAY_MS, after, upTo].map(offsetAt);
    const [from, to] = [after + Math.min(...offsets), upTo + Math.max(...offsets)];
    const [first, last] = [Math.floor(from / DAY_MS), Math.floor(to / DAY_MS)];
    const [early, late] = sources(first, last);
    const slots = new Set<number>();
    const placed = new Map<number, number | undefined>();
    for (const time of cron.between(
      early >= first ? Math.max(from, early * DAY_MS) : early * DAY_MS,
      late <= last ? Math.min(to, (late + 1) * DAY_MS - 1) : (late + 1) * DAY_MS - 1,
    )) {
      const day = Math.floor(time / DAY_MS);
      if (!placed.has(day)) placed.set(day, place(day));
      const falls = placed.get(day);
      if (falls === undefined) continue;
      for (const at of instantsOf(time + (falls - day) * DAY_MS, offsetAt, cron.interval)) {
        if (at > after && at <= upTo) slots.add(at);
      }
    }
    return [...slots].sort((a, b) => a - b);
  };
  /** How long after `after` the cron, were nothing moved or left out, has had so many times. */
  const stride = (after: number, count: number): number => {
    const local = after + offsetAt(after);
    const start = schedule.start === undefined ? local : Math.max(local, Date.parse(schedule.start));
    let last = start;
    let left = count;
    for (const time of cron.between(start, Number.POSITIVE_INFINITY)) {
      last = time;
      left -= 1;
      if (left <= 0) break;
    }
    return last - local + MINUTE_MS;
  };
  return { between, stride };
}

/**
 * The next slots of one schedule, ascending, in epoch ms; fewer than `count` when there are no more, or none within fifty
 * years, or none that the calendar knows of (`HOLIDAY_YEARS`).
 * @param schedule valid (`scheduleSchema`)
 * @param zone IANA zone in which it is read
 * @param calendar the organization's; needed where the schedule has `on` or `shift`
 * @param after epoch ms; a slot at exactly this instant is not among them
 */
export function nextSlots(
  schedule: Timing,
  zone: string,
  calendar: Calendar | undefined,
  after: number,
  count: number,
): number[] {
  const { between, stride } = slotsOf(schedule, zone, calendar);
  const ends = schedule.end === undefined ? Number.POSITIVE_INFINITY : Date.parse(schedule.end) + 3 * DAY_MS;
  const horizon = Math.min(after + HORIZON_MS, ends);
  const slots: number[] = [];
  let from = after;
  for (let span = stride(after, count); slots.length < count && from < horizon; span = Math.max(span * 2, DAY_MS)) {
    const to = Math.min(from + span, horizon);
    slots.push(...between(from, to));
    from = to;
  }
  return slots.slice(0, count);
}

/** All slots of one schedule with `after` < slot ≤ `upTo`, ascending, in epoch ms; parameters as for `nextSlots`. */
export const slotsBetween = (
  schedule: Timing,
  zone: string,
  calendar: Calendar | undefined,
  after: number,
  upTo: number,
): number[] => slotsOf(schedule, zone, calendar).between(after, upTo);

/** All that decides when a report's slots are: two reports with equal timetables have the same slots. Plain data. */
export interface Timetable {
  /** Empty: on demand only. */
  readonly schedules: readonly Schedule[];
  /** IANA zone of those schedules that name none. */
  readonly timezone: string;
  readonly calendar?: Calendar | undefined;
}

/** Reads a timetable back that was kept as JSON. */
export const timetableSchema = z.strictObject({
  schedules: z.array(scheduleSchema),
  timezone: zoneSchema,
  calendar: calendarSchema.optional(),
});

/** A report's timetable. */
export const timetableOf = (
  report: { readonly schedule: readonly Schedule[] },
  org: Pick<OrgSettings, 'timezone' | 'calendar'>,
): Timetable => ({
  schedules: report.schedule,
  timezone: org.timezone,
  ...(org.calendar === undefined ? {} : { calendar: org.calendar }),
});

/** A moment at which a report is due. */
export interface Slot {
  /** Epoch ms. */
  readonly at: number;
  /** Whose slot it is: of several schedules that fall together, the one that is written first. */
  readonly schedule: Schedule;
}

/** The next slots of all schedules of a report, ascending, each instant once; fewer than `count` when there are no more. */
export function nextReportSlots({ schedules, timezone, calendar }: Timetable, after: number, count: number): Slot[] {
  const slots = new Map<number, Slot>();
  for (const schedule of schedules) {
    for (const at of nextSlots(schedule, schedule.timezone ?? timezone, calendar, after, count)) {
      if (!slots.has(at)) slots.set(at, { at, schedule });
    }
  }
  return [...slots.values()].sort((a, b) => a.at - b.at).slice(0, count);
}
