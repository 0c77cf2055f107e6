import { setImmediate } from 'node:timers/promises';
import { nextReportSlots, type Slot, type Timetable } from './slots.ts';

/** Reports that are due at the same moments. */
export interface DueTogether<Report> {
  /** Tells timetables apart. */
  readonly key: string;
  readonly timetable: Timetable;
  readonly reports: readonly Report[];
}

/** Reports by what decides when they are due; those on demand only are left out. */
export function dueTogether<Report>(
  reports: Iterable<readonly [report: Report, timetable: Timetable]>,
): readonly DueTogether<Report>[] {
  const groups = new Map<string, DueTogether<Report> & { readonly reports: Report[] }>();
  for (const [report, timetable] of reports) {
    if (timetable.schedules.length === 0) continue;
    const key = JSON.stringify(timetable);
    const group = groups.get(key) ?? { key, timetable, reports: [] };
    groups.set(key, group);
    group.reports.push(report);
  }
  return [...groups.values()];
}

/** Which slots are asked for: `from` ≤ slot < `until` (epoch ms), at most `limit`, the soonest. */
export interface SlotSpan {
  readonly from: number;
  readonly until?: number | undefined;
  readonly limit: number;
}

/** The soonest slots of many reports, ascending; those of one instant in the order of the groups. */
export type FindSlots = <Report>(
  groups: readonly DueTogether<Report>[],
  span: SlotSpan,
) => Promise<readonly { readonly slot: Slot; readonly report: Report }[]>;

/** Timetables that are looked at before others have their turn: a new one costs some hundred microseconds. */
const SLICE = 20;

/**
 * Finds slots of thousands of reports without holding up the process. What was found out of a timetable is remembered for
 * the day, whoever asks and however often definitions are read again.
 */
export function slotFinder(): FindSlots {
  const nextOf = rememberedSlots();
  return async (groups, { from, until = Number.POSITIVE_INFINITY, limit }) => {
    const line: { readonly slot: Slot; readonly place: number; readonly group: (typeof groups)[number] }[] = [];
    let steps = 0;
    const put = async (place: number, group: (typeof groups)[number], since: number): Promise<void> => {
      steps += 1;
      if (steps % SLICE === 0) await setImmediate();
      const slot = nextOf(group, since);
      if (slot === undefined || slot.at >= until) return;
      const { at } = slot;
      const before = (other: (typeof line)[number]) =>
        other.slot.at < at || (other.slot.at === at && other.place < place);
      line.splice(firstAfter(line, before), 0, { slot, place, group });
      // Behind as many timetables as slots are asked for nobody's slot is among the soonest.
      if (line.length > limit) line.pop();
    };
    for (const [place, group] of groups.entries()) await put(place, group, from);
    const found: { slot: Slot; report: (typeof groups)[number]['reports'][number] }[] = [];
    for (let head = line.shift(); head !== undefined; head = line.shift()) {
      const { slot, place, group } = head;
      for (const report of group.reports.slice(0, limit - found.length)) found.push({ slot, report });
      if (found.length >= limit) break;
      await put(place, group, slot.at + 1);
    }
    return found;
  };
}

/** All slots of a timetable from a moment on, as far as anybody has asked. */
interface Known {
  readonly since: number;
  readonly slots: readonly Slot[];
  /** There are no more. */
  readonly last: boolean;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Slots that are found at once, at most: the first one alone, for most timetables have one in the time asked for. */
const AT_ONCE = 32;
/** Days from which on somebody has asked lately. */
const DAYS = 4;

/** The first slot of a timetable at `from` or later; undefined when there are no more. */
function rememberedSlots(): (of: Omit<DueTogether<unknown>, 'reports'>, from: number) => Slot | undefined {
  const days = new Map<number, Map<string, Known>>();
  const ofDay = (day: number): Map<string, Known> => {
    const known = days.get(day) ?? new Map<string, Known>();
    // The day that was asked for last is the last to go.
    days.delete(day);
    days.set(day, known);
    const [oldest] = days.size > DAYS ? days.keys() : [];
    if (oldest !== undefined) days.delete(oldest);
    return known;
  };
  return ({ key, timetable }, from) => {
    const day = ofDay(Math.floor(from / DAY_MS));
    let known = day.get(key);
    // Of every minute's slots nobody walks through those of hours.
    if (known !== undefined && (from < known.since || from > endOf(known) + HOUR_MS)) known = undefined;
    for (;;) {
      const { since, slots, last }: Known = known ?? { since: from, slots: [], last: false };
      const slot = slots[firstAfter(slots, ({ at }) => at < from)];
      if (slot !== undefined || last) return slot;
      const count = Math.min(AT_ONCE, slots.length + 1);
      const more = nextReportSlots(timetable, slots.at(-1)?.at ?? since - 1, count);
      known = { since, slots: [...slots, ...more], last: more.length < count };
      day.set(key, known);
    }
  };
}

const endOf = ({ since, slots, last }: Known): number =>
  last ? Number.POSITIVE_INFINITY : (slots.at(-1)?.at ?? since);

/** How many of a sorted list come before: where the next one belongs. */
function firstAfter<Item>(items: readonly Item[], before: (item: Item) => boolean): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const item = items[middle];
    if (item !== undefined && before(item)) low = middle + 1;
    else high = middle;
  }
  return low;
}
