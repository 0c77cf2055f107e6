import { setImmediate } from 'node:timers/promises';
import { DAY_MS, HOUR_MS } from '../../base/time.ts';
import { nextReportSlots, type Slot, type Timetable } from './slots.ts';

/** Reports with the same slots. */
export interface TimetableGroup<Report> {
  /** Identifies the timetable. */
  readonly key: string;
  readonly timetable: Timetable;
  readonly reports: readonly Report[];
}

/** Groups reports by timetable. Reports on demand only are left out. */
export function groupByTimetable<Report>(
  reports: Iterable<readonly [report: Report, timetable: Timetable]>,
): readonly TimetableGroup<Report>[] {
  const groups = new Map<string, TimetableGroup<Report> & { readonly reports: Report[] }>();
  for (const [report, timetable] of reports) {
    if (timetable.schedules.length === 0) continue;
    const key = JSON.stringify(timetable);
    const group = groups.get(key) ?? { key, timetable, reports: [] };
    groups.set(key, group);
    group.reports.push(report);
  }
  return [...groups.values()];
}

/** Selects the earliest slots with `from` ≤ slot < `until` (epoch ms), at most `limit`. */
export interface SlotQuery {
  readonly from: number;
  readonly until?: number | undefined;
  readonly limit: number;
}

/** Finds the earliest slots of many reports, ascending. Slots of one instant are in the order of the groups. */
export type FindSlots = <Report>(
  groups: readonly TimetableGroup<Report>[],
  span: SlotQuery,
) => Promise<readonly { readonly slot: Slot; readonly report: Report }[]>;

/** Timetables between two yields to the event loop: a new one takes a few hundred microseconds. */
const BATCH_SIZE = 20;

/**
 * Finds slots of thousands of reports without blocking the event loop. The slots of a timetable are cached for the day,
 * even if the definitions are reloaded.
 */
export function slotFinder(): FindSlots {
  const nextOf = cachedNextSlot();
  return async (groups, { from, until = Number.POSITIVE_INFINITY, limit }) => {
    const queue: { readonly slot: Slot; readonly index: number; readonly group: (typeof groups)[number] }[] = [];
    let steps = 0;
    const insert = async (index: number, group: (typeof groups)[number], since: number): Promise<void> => {
      steps += 1;
      if (steps % BATCH_SIZE === 0) await setImmediate();
      const slot = nextOf(group, since);
      if (slot === undefined || slot.at >= until) return;
      const { at } = slot;
      const before = (other: (typeof queue)[number]) =>
        other.slot.at < at || (other.slot.at === at && other.index < index);
      queue.splice(lowerBound(queue, before), 0, { slot, index, group });
      // Keeps only the `limit` earliest.
      if (queue.length > limit) queue.pop();
    };
    for (const [index, group] of groups.entries()) await insert(index, group, from);
    const found: { slot: Slot; report: (typeof groups)[number]['reports'][number] }[] = [];
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { slot, index, group } = next;
      for (const report of group.reports.slice(0, limit - found.length)) found.push({ slot, report });
      if (found.length >= limit) break;
      await insert(index, group, slot.at + 1);
    }
    return found;
  };
}

/** The slots of a timetable from `since` on, as far as they were needed. */
interface CachedSlots {
  readonly since: number;
  readonly slots: readonly Slot[];
  /** There are no more. */
  readonly complete: boolean;
}

/**
 * The most slots that are computed at once. The first time it is one, because most timetables have only one in the
 * requested range.
 */
const MAX_PREFETCHED_SLOTS = 32;
/** Least recently used days are evicted. */
const MAX_CACHED_DAYS = 4;

/** Finds the first slot of a timetable at `from` or later; undefined if there are no more. */
function cachedNextSlot(): (of: Omit<TimetableGroup<unknown>, 'reports'>, from: number) => Slot | undefined {
  const days = new Map<number, Map<string, CachedSlots>>();
  const ofDay = (day: number): Map<string, CachedSlots> => {
    const known = days.get(day) ?? new Map<string, CachedSlots>();
    // Moves the day to the end, because the least recently used is first.
    days.delete(day);
    days.set(day, known);
    const [oldest] = days.size > MAX_CACHED_DAYS ? days.keys() : [];
    if (oldest !== undefined) days.delete(oldest);
    return known;
  };
  return ({ key, timetable }, from) => {
    const day = ofDay(Math.floor(from / DAY_MS));
    let known = day.get(key);
    // If the slot is too far ahead, starts a new entry instead of computing all slots in between.
    if (known !== undefined && (from < known.since || from > lastKnownSlot(known) + HOUR_MS)) known = undefined;
    for (;;) {
      const { since, slots, complete }: CachedSlots = known ?? { since: from, slots: [], complete: false };
      const slot = slots[lowerBound(slots, ({ at }) => at < from)];
      if (slot !== undefined || complete) return slot;
      const count = Math.min(MAX_PREFETCHED_SLOTS, slots.length + 1);
      const more = nextReportSlots(timetable, slots.at(-1)?.at ?? since - 1, count);
      known = { since, slots: [...slots, ...more], complete: more.length < count };
      day.set(key, known);
    }
  };
}

const lastKnownSlot = ({ since, slots, complete }: CachedSlots): number =>
  complete ? Number.POSITIVE_INFINITY : (slots.at(-1)?.at ?? since);

/** Index of the first item in a sorted list for which `before` is false. */
function lowerBound<Item>(items: readonly Item[], before: (item: Item) => boolean): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const item = items[middle];
    if (item !== undefined && before(item)) low = middle + 1;
    else high = middle;
  }
  return low;
}
