import { createHash } from 'node:crypto';
import { SECOND_MS } from '../../base/time.ts';
import type { Schedule } from '../../definitions/schedules/schedule.ts';
import { jitterMs, nextSlots, slotsBetween } from '../../definitions/schedules/slots.ts';
import type { FrozenDefinition } from '../definitions/definition-store.ts';
import { type CatchUpPolicy, DEFAULT_CATCH_UP_WINDOW_MS } from './catch-up.ts';

/** One schedule of a report: its cursor, its slots, and its policy for missed slots. */
export interface ReportSchedule extends CatchUpPolicy {
  /** Name of its cursor. A changed schedule gets another name, so that it opens no earlier slots. */
  readonly cursor: string;
  /** The same for all schedules with the same slots. */
  readonly key: string;
  /** The slots with `after` < slot ≤ `upTo`, ascending, epoch ms. */
  between(after: number, upTo: number): readonly number[];
  /** Ms after a slot within which readers expect the report; undefined without `late_after`. */
  readonly lateAfterMs: number | undefined;
  /** Delay from this slot to the start of its run, ms. */
  delayOf(slot: number): number;
  /** The first slot after `after`; undefined if there is none. */
  next(after: number): number | undefined;
}

/** Full name of a report: `<org>/<report>`. */
export const reportName = ({ definition }: FrozenDefinition): string => `${definition.org}/${definition.report}`;

/** The schedules of a report, in the definition's order. */
export function reportSchedules(report: FrozenDefinition): readonly ReportSchedule[] {
  const { definition, settings } = report;
  const { calendar } = settings;
  return definition.schedule.map((schedule) => {
    const zone = schedule.timezone ?? settings.timezone;
    return {
      // The calendar is left out: if a holiday is corrected, slots that move into the past must not be lost.
      cursor: `${reportName(report)} ${scheduleHash(schedule, zone, undefined)}`,
      key: scheduleHash(schedule, zone, (schedule.on ?? schedule.shift) ? calendar : undefined),
      catchUp: schedule.catch_up,
      windowMs: schedule.catch_up_window * SECOND_MS,
      lateAfterMs: schedule.late_after === undefined ? undefined : schedule.late_after * SECOND_MS,
      between: (after, upTo) => slotsBetween(schedule, zone, calendar, after, upTo),
      delayOf: (slot) => jitterMs(definition.org, definition.report, slot, schedule),
      next: (after) => nextSlots(schedule, zone, calendar, after, 1)[0],
    };
  });
}

/** Hash of the settings that determine the slots. Leaves out those that determine how slots are processed. */
function scheduleHash(schedule: Schedule, zone: string, calendar: unknown): string {
  const { cron, start, end, on, shift } = schedule;
  return createHash('sha256')
    .update(JSON.stringify([cron, start, end, on, shift, zone, calendar ?? null]))
    .digest('hex')
    .slice(0, 16);
}

/** The names of a report's cursors, each once. */
export const cursorNames = (report: FrozenDefinition): string[] => [
  ...new Set(reportSchedules(report).map(({ cursor }) => cursor)),
];

/**
 * How long a slot can be caught up, in ms: the longest `catch_up_window` of the schedules that have the slot. The
 * default applies to a slot of no schedule, e.g. in a backfill.
 *
 * @param slot epoch ms
 */
export function catchUpWindowMs(report: FrozenDefinition, slot: number | undefined): number {
  if (slot === undefined) return DEFAULT_CATCH_UP_WINDOW_MS;
  const matching = reportSchedules(report).filter((timing) => timing.between(slot - 1, slot).length > 0);
  return matching.length === 0 ? DEFAULT_CATCH_UP_WINDOW_MS : Math.max(...matching.map(({ windowMs }) => windowMs));
}
