import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { OrgSettings } from '../schema/org-settings.ts';
import { zoneSchema } from '../schema/primitives.ts';
import { businessDayShift } from './business-day-shift.ts';
import { type Calendar, calendarSchema } from './calendar.ts';
import { DAY_MS } from './civil-day.ts';
import { parseCron } from './cron.ts';
import { localToInstants, zoneOffsets } from './local-time.ts';
import { type Schedule, scheduleSchema } from './schedule.ts';

export { cronFault } from './cron.ts';

/** What of a schedule says when its slots are. */
export type RecurrenceRule = Pick<Schedule, 'cron'> & Partial<Pick<Schedule, 'start' | 'end' | 'shift' | 'on'>>;

const MINUTE_MS = 60_000;
/** Where to stop looking for the next slot: 29 February on one day of the week comes back within 40 years. */
const MAX_LOOKAHEAD_MS = 50 * 366 * DAY_MS;

/**
 * The slots of one schedule, to be asked for in spans: `after` < slot ≤ `upTo`, ascending, in epoch ms.
 *
 * The cron is read on a calendar without zones. Its days are moved or left out (`placingOf`), and only then its times
 * become instants of the zone (`instantsOf`), so that a slot that moves keeps its local time.
 */
function slotGenerator(schedule: RecurrenceRule, zone: string, calendar: Calendar | undefined) {
  const cron = parseCron(schedule.cron);
  const offsetAt = zoneOffsets(zone);
  const { shiftDay, sourceDays } = businessDayShift(schedule, calendar);
  const between = (after: number, upTo: number): number[] => {
    if (upTo <= after) return [];
    // What is skipped here may have been due by the offset of the day before.
    const offsets = [after - DAY_MS, after, upTo].map(offsetAt);
    const [from, to] = [after + Math.min(...offsets), upTo + Math.max(...offsets)];
    const [first, last] = [Math.floor(from / DAY_MS), Math.floor(to / DAY_MS)];
    const [early, late] = sourceDays(first, last);
    const slots = new Set<number>();
    const placed = new Map<number, number | undefined>();
    for (const time of cron.between(
      early >= first ? Math.max(from, early * DAY_MS) : early * DAY_MS,
      late <= last ? Math.min(to, (late + 1) * DAY_MS - 1) : (late + 1) * DAY_MS - 1,
    )) {
      const day = Math.floor(time / DAY_MS);
      if (!placed.has(day)) placed.set(day, shiftDay(day));
      const falls = placed.get(day);
      if (falls === undefined) continue;
      for (const at of localToInstants(time + (falls - day) * DAY_MS, offsetAt, cron.isInterval)) {
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
  schedule: RecurrenceRule,
  zone: string,
  calendar: Calendar | undefined,
  after: number,
  count: number,
): number[] {
  const { between, stride } = slotGenerator(schedule, zone, calendar);
  const ends = schedule.end === undefined ? Number.POSITIVE_INFINITY : Date.parse(schedule.end) + 3 * DAY_MS;
  const horizon = Math.min(after + MAX_LOOKAHEAD_MS, ends);
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
  schedule: RecurrenceRule,
  zone: string,
  calendar: Calendar | undefined,
  after: number,
  upTo: number,
): number[] => slotGenerator(schedule, zone, calendar).between(after, upTo);

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

/** What six bytes of a hash can say: 2^48 places. */
const HASH_RANGE = 2 ** 48;

/**
 * How long after its slot a run begins, ms: at least 0, less than the schedule's `jitter`. Always the same for one slot,
 * whoever asks; another slot of the report begins at another offset. The slot keeps its nominal instant.
 * @param slot epoch ms
 */
export function jitterMs(org: string, report: string, slot: number, { jitter = 0 }: Pick<Schedule, 'jitter'>): number {
  const hash = createHash('sha256')
    .update(JSON.stringify([org, report, slot]))
    .digest();
  return Math.floor((hash.readUIntBE(0, 6) / HASH_RANGE) * jitter * 1000);
}
