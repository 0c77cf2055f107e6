import { createHash } from 'node:crypto';
import { jitterMs } from '../define/jitter.ts';
import type { Schedule } from '../define/schedule.ts';
import { nextSlots, slotsBetween } from '../define/slots.ts';
import { CATCH_UP_MS, type CatchUp } from './catch-up.ts';
import type { FrozenDefinition } from './definition-store.ts';

/** One schedule of a report: where it stands, when its slots are, and what it says of missed ones. */
export interface Timing extends CatchUp {
  /** Name of its cursor: a schedule that is changed has another one, and finds no slots of the time before. */
  readonly cursor: string;
  /** The same for all schedules whose slots are at the same instants: what was computed for one holds for all. */
  readonly key: string;
  /** The slots with `after` < slot ≤ `upTo`, ascending, epoch ms. */
  between(after: number, upTo: number): readonly number[];
  /** How long after this slot its run begins, ms. */
  delayOf(slot: number): number;
  /** The first slot after `after`; undefined when there is none. */
  next(after: number): number | undefined;
}

/** `<org>/<report>`. */
export const nameOf = ({ definition }: FrozenDefinition): string => `${definition.org}/${definition.report}`;

/** The schedules of a report, in its own order. */
export function timingsOf(report: FrozenDefinition): readonly Timing[] {
  const { definition, settings } = report;
  const { calendar } = settings;
  return definition.schedule.map((schedule) => {
    const zone = schedule.timezone ?? settings.timezone;
    return {
      // Not of the calendar: a day off that is put right must not lose the slot that it puts into the past.
      cursor: `${nameOf(report)} ${hashOf(schedule, zone, undefined)}`,
      key: hashOf(schedule, zone, (schedule.on ?? schedule.shift) ? calendar : undefined),
      catchUp: schedule.catch_up,
      windowMs: schedule.catch_up_window * 1000,
      between: (after, upTo) => slotsBetween(schedule, zone, calendar, after, upTo),
      delayOf: (slot) => jitterMs(definition.org, definition.report, slot, schedule),
      next: (after) => nextSlots(schedule, zone, calendar, after, 1)[0],
    };
  });
}

/** Of what decides when the slots are, and of nothing that only decides what becomes of them. */
function hashOf(schedule: Schedule, zone: string, calendar: unknown): string {
  const { cron, start, end, on, shift } = schedule;
  return createHash('sha256')
    .update(JSON.stringify([cron, start, end, on, shift, zone, calendar ?? null]))
    .digest('hex')
    .slice(0, 16);
}

/** Names of a report's cursors, each once. */
export const cursorsOf = (report: FrozenDefinition): string[] => [
  ...new Set(timingsOf(report).map(({ cursor }) => cursor)),
];

/**
 * For how long (ms) a slot of this version can be made up for: as the schedule says that has it, and where several have
 * it the most generous. What no schedule has, such as a backfill, keeps the usual time.
 *
 * @param slot epoch ms
 */
export function catchUpMs(report: FrozenDefinition, slot: number | undefined): number {
  if (slot === undefined) return CATCH_UP_MS;
  const own = timingsOf(report).filter((timing) => timing.between(slot - 1, slot).length > 0);
  return own.length === 0 ? CATCH_UP_MS : Math.max(...own.map(({ windowMs }) => windowMs));
}
