import { z } from 'zod';
import { cronsOf } from './cron.ts';
import { type OrgSettings, orgFileSchema } from './org.ts';
import { type Schedule, scheduleSchema } from './schedule.ts';

export { cronFault } from './cron.ts';

/** The organization's calendar, as `org.yaml` says it. */
type Calendar = OrgSettings['calendar'];
/** What of a schedule says when its slots are. */
type Timing = Pick<Schedule, 'cron'>;

/**
 * The next slots of one schedule, ascending, in epoch ms; fewer than `count` when there are no more.
 * @param schedule its cron is valid (`scheduleSchema`)
 * @param zone IANA zone in which the cron is read
 * @param after epoch ms; a slot at exactly this instant is not among them
 */
export function nextSlots(
  schedule: Timing,
  zone: string,
  _calendar: Calendar | undefined,
  after: number,
  count: number,
): number[] {
  const crons = cronsOf(schedule.cron, zone);
  const each = crons.flatMap((cron) => cron.nextRuns(count, new Date(after)).map((slot) => slot.getTime()));
  return ascending(each).slice(0, count);
}

/** All slots of one schedule with `after` < slot ≤ `upTo`, ascending, in epoch ms. */
export function slotsBetween(
  schedule: Timing,
  zone: string,
  _calendar: Calendar | undefined,
  after: number,
  upTo: number,
): number[] {
  const slots: number[] = [];
  for (const cron of cronsOf(schedule.cron, zone)) {
    for (const slot of cron.enumerate(new Date(after))) {
      if (slot.getTime() > upTo) break;
      slots.push(slot.getTime());
    }
  }
  return ascending(slots);
}

const ascending = (slots: readonly number[]): number[] => [...new Set(slots)].sort((a, b) => a - b);

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
  timezone: orgFileSchema.shape.timezone,
  calendar: orgFileSchema.shape.calendar,
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
export const nextReportSlots = (timetable: Timetable, after: number, count: number): Slot[] =>
  merged(timetable, (schedule, zone) => nextSlots(schedule, zone, timetable.calendar, after, count)).slice(0, count);

/** The slots of all schedules of a report with `after` < slot ≤ `upTo`, ascending, each instant once. */
export const reportSlotsBetween = (timetable: Timetable, after: number, upTo: number): Slot[] =>
  merged(timetable, (schedule, zone) => slotsBetween(schedule, zone, timetable.calendar, after, upTo));

function merged(
  { schedules, timezone }: Timetable,
  slotsOf: (schedule: Schedule, zone: string) => readonly number[],
): Slot[] {
  const slots = new Map<number, Slot>();
  for (const schedule of schedules) {
    for (const at of slotsOf(schedule, schedule.timezone ?? timezone)) {
      if (!slots.has(at)) slots.set(at, { at, schedule });
    }
  }
  return [...slots.values()].sort((a, b) => a.at - b.at);
}
