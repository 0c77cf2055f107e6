import { createHash } from 'node:crypto';
import { z } from 'zod';
import { DAY_MS, MINUTE_MS } from '../../base/time.ts';
import type { OrgSettings } from '../schema/org-settings.ts';
import { zoneSchema } from '../schema/values/primitives.ts';
import { businessDays, type Calendar, calendarSchema } from './calendar.ts';
import { type CivilDay, parseCivilDay } from './civil-day.ts';
import { parseCron } from './cron.ts';
import { localToInstants, zoneOffsets } from './local-time.ts';
import { type Schedule, scheduleSchema } from './schedule.ts';

/** The fields of a schedule that determine its slots. */
export type RecurrenceRule = Pick<Schedule, 'cron'> & Partial<Pick<Schedule, 'start' | 'end' | 'shift' | 'on'>>;

/** Limit of the search for the next slot: 29 February on a given weekday recurs within 40 years. */
const MAX_LOOKAHEAD_MS = 50 * 366 * DAY_MS;

/**
 * Generates the slots of one schedule with `after` < slot ≤ `upTo`, ascending, in epoch ms.
 *
 * The cron gives local times without a time zone. Their days are shifted or skipped (`businessDayShift`) before they
 * are converted to instants (`localToInstants`), so that a shifted slot keeps its local time.
 */
function slotGenerator(schedule: RecurrenceRule, zone: string, calendar: Calendar | undefined) {
  const cron = parseCron(schedule.cron);
  const offsetAt = zoneOffsets(zone);
  const { shiftDay, sourceDays } = businessDayShift(schedule, calendar);
  const between = (after: number, upTo: number): number[] => {
    if (upTo <= after) return [];
    // Around a clock change, the offset of the day before may apply to a slot.
    const offsets = [after - DAY_MS, after, upTo].map(offsetAt);
    const [from, to] = [after + Math.min(...offsets), upTo + Math.max(...offsets)];
    const [first, last] = [Math.floor(from / DAY_MS), Math.floor(to / DAY_MS)];
    const [firstSource, lastSource] = sourceDays(first, last);
    const slots = new Set<number>();
    const shiftedDays = new Map<number, number | undefined>();
    for (const time of cron.between(
      firstSource >= first ? Math.max(from, firstSource * DAY_MS) : firstSource * DAY_MS,
      lastSource <= last ? Math.min(to, (lastSource + 1) * DAY_MS - 1) : (lastSource + 1) * DAY_MS - 1,
    )) {
      const day = Math.floor(time / DAY_MS);
      if (!shiftedDays.has(day)) shiftedDays.set(day, shiftDay(day));
      const shiftedDay = shiftedDays.get(day);
      if (shiftedDay === undefined) continue;
      for (const at of localToInstants(time + (shiftedDay - day) * DAY_MS, offsetAt, cron.isInterval)) {
        if (at > after && at <= upTo) slots.add(at);
      }
    }
    return [...slots].sort((a, b) => a - b);
  };
  /** Ms after `after` within which the cron has `count` times, without shifts. */
  const measureSpan = (after: number, count: number): number => {
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
  return { between, spanOf: measureSpan };
}

/**
 * The next slots of one schedule, ascending, in epoch ms. Fewer than `count` if there are no more, or no more within
 * fifty years or in the years of the calendar (`HOLIDAY_YEARS`).
 * @param schedule a valid schedule (`scheduleSchema`)
 * @param zone IANA zone
 * @param calendar the organization's; required if the schedule has `on` or `shift`
 * @param after epoch ms, exclusive
 */
export function nextSlots(
  schedule: RecurrenceRule,
  zone: string,
  calendar: Calendar | undefined,
  after: number,
  count: number,
): number[] {
  const { between, spanOf } = slotGenerator(schedule, zone, calendar);
  const ends = schedule.end === undefined ? Number.POSITIVE_INFINITY : Date.parse(schedule.end) + 3 * DAY_MS;
  const horizon = Math.min(after + MAX_LOOKAHEAD_MS, ends);
  const slots: number[] = [];
  let from = after;
  for (let span = spanOf(after, count); slots.length < count && from < horizon; span = Math.max(span * 2, DAY_MS)) {
    const to = Math.min(from + span, horizon);
    slots.push(...between(from, to));
    from = to;
  }
  return slots.slice(0, count);
}

/**
 * All slots of one schedule with `after` < slot ≤ `upTo`, ascending, in epoch ms. Parameters are like those of
 * `nextSlots`.
 */
export const slotsBetween = (
  schedule: RecurrenceRule,
  zone: string,
  calendar: Calendar | undefined,
  after: number,
  upTo: number,
): number[] => slotGenerator(schedule, zone, calendar).between(after, upTo);

/** All that determines a report's slots: reports with equal timetables have the same slots. Plain data. */
export interface Timetable {
  /** Empty: on demand only. */
  readonly schedules: readonly Schedule[];
  /** IANA zone for schedules without one. */
  readonly timezone: string;
  readonly calendar?: Calendar | undefined;
}

/** For timetables that are stored as JSON. */
export const timetableSchema = z.strictObject({
  schedules: z.array(scheduleSchema),
  timezone: zoneSchema,
  calendar: calendarSchema.optional(),
});

/** A report's timetable. */
export const buildTimetable = (
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
  /** The schedule of the slot. If several have the same instant, the first one. */
  readonly schedule: Schedule;
}

/**
 * The next slots of all schedules of a report, ascending, each instant once. Fewer than `count` if there are no more.
 */
export function nextReportSlots({ schedules, timezone, calendar }: Timetable, after: number, count: number): Slot[] {
  const slots = new Map<number, Slot>();
  for (const schedule of schedules) {
    for (const at of nextSlots(schedule, schedule.timezone ?? timezone, calendar, after, count)) {
      if (!slots.has(at)) slots.set(at, { at, schedule });
    }
  }
  return [...slots.values()].sort((a, b) => a.at - b.at).slice(0, count);
}

/** The number of values of six bytes. */
const HASH_RANGE = 2 ** 48;

/**
 * How long (ms) a run's start is delayed after its slot: at least 0, and less than the schedule's `jitter`. Always the
 * same for a slot, and different for other slots of the report. The slot keeps its nominal instant.
 * @param slot epoch ms
 */
export function jitterMs(org: string, report: string, slot: number, { jitter = 0 }: Pick<Schedule, 'jitter'>): number {
  const hash = createHash('sha256')
    .update(JSON.stringify([org, report, slot]))
    .digest();
  return Math.floor((hash.readUIntBE(0, 6) / HASH_RANGE) * jitter * 1000);
}

/** Moves the days of a cron to business days. */
interface BusinessDayShift {
  /** Undefined: the slot is skipped. */
  shiftDay(day: CivilDay): CivilDay | undefined;
  /** The range of the cron's days whose slots can move between `first` and `last`. */
  sourceDays(first: CivilDay, last: CivilDay): readonly [first: CivilDay, last: CivilDay];
}

type DayRules = Partial<Pick<Schedule, 'start' | 'end' | 'shift' | 'on'>>;

/**
 * Applies `start`, `end`, `on` and `shift` to the days of a cron. `start` and `end` apply to the shifted day.
 *
 * Throws `TypeError` for `on` or `shift` without a calendar, but `scheduleDiagnostics` reports such a definition
 * before.
 */
function businessDayShift({ start, end, shift, on }: DayRules, calendar: Calendar | undefined): BusinessDayShift {
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
    // Days off between the range and the nearest business day outside it are shifted into the range.
    sourceDays: (from, to) =>
      step === 1
        ? [days.nearestBusinessDay(from - 1, -1) ?? from, to]
        : [from, days.nearestBusinessDay(to + 1, 1) ?? to],
  };
}
