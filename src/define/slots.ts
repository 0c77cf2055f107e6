import { cronsOf } from './cron.ts';
import type { Schedule } from './schedule.ts';

export { cronFault } from './cron.ts';

type Cron = Pick<Schedule, 'cron'>;

/**
 * The next slots of a schedule, ascending, in epoch ms; fewer than `count` when the calendar has no more.
 * @param schedule its cron is valid (`scheduleSchema`)
 * @param zone IANA zone in which the cron is read
 * @param after epoch ms; a slot at exactly this instant is not among them
 */
export function nextSlots(schedule: Cron, zone: string, after: number, count: number): number[] {
  const crons = cronsOf(schedule.cron, zone);
  const each = crons.flatMap((cron) => cron.nextRuns(count, new Date(after)).map((slot) => slot.getTime()));
  return ascending(each).slice(0, count);
}

/** All slots with `after` < slot ≤ `upTo`, ascending, in epoch ms. */
export function slotsBetween(schedule: Cron, zone: string, after: number, upTo: number): number[] {
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
