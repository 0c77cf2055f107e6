import type { Clock } from '../base/clock.ts';
import { toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import type { Schedule } from '../define/schedule.ts';
import { reportSlotsBetween, type Slot, timetableOf } from '../define/slots.ts';
import type { Cursors } from './cursors.ts';
import type { FrozenDefinition } from './definition-store.ts';
import type { Trigger } from './trigger.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Slots missed longer ago are not made up for. */
export const CATCH_UP_MS = 3 * DAY_MS;
/** A slot opened this late is not a missed one: the reconciler comes every minute. */
const ON_TIME_MS = 5 * MINUTE_MS;
/** Slots are counted as skipped this far back; a server that was off for a year is not worth more. */
const COUNTED_MS = 31 * DAY_MS;
/** Reports that are looked at side by side. */
const ABREAST = 50;

/** A slot that is not opened: by the report's own `catch_up`, for a later slot, or for its age. */
export type Skip = { readonly slot: number; readonly why: 'catch_up' | 'superseded' | 'too_old' };

/**
 * Which of the slots that came due are opened, and which are not and why. Slots that are on time always are; of those
 * missed, `catch_up` says: none, all, or the latest – which is none when a later one is on time.
 *
 * @param slots ascending, epoch ms, none after `now`
 */
export function decide(
  slots: readonly number[],
  now: number,
  catchUp: Schedule['catch_up'],
): { readonly open: readonly number[]; readonly skipped: readonly Skip[] } {
  const tooOld = slots.filter((slot) => slot < now - CATCH_UP_MS);
  const missed = slots.filter((slot) => slot >= now - CATCH_UP_MS && slot < now - ON_TIME_MS);
  const onTime = slots.filter((slot) => slot >= now - ON_TIME_MS);
  const made = catchUp === 'all' ? missed : catchUp === 'latest' && onTime.length === 0 ? missed.slice(-1) : [];
  const why = catchUp === 'skip' ? 'catch_up' : 'superseded';
  return {
    open: [...made, ...onTime],
    skipped: [
      ...tooOld.map((slot) => ({ slot, why: 'too_old' as const })),
      ...missed.filter((slot) => !made.includes(slot)).map((slot) => ({ slot, why }) as const),
    ],
  };
}

/** What a look at the due slots needs. */
export interface DuePorts {
  readonly cursors: Cursors;
  readonly trigger: Trigger;
  /** `<org>` and `<org>/<report>` whose scheduled runs wait; nobody's when absent. */
  readonly paused?: () => Promise<ReadonlyMap<string, unknown>>;
  readonly clock: Clock;
  readonly log: Log;
}

/** What a look at the due slots did. */
export interface Due {
  /** Slots that this call opened; another process may have opened others. */
  readonly opened: number;
  readonly skipped: number;
  /** Reports whose slots could not be opened; their cursor stays, the next look tries again. */
  readonly failed: number;
}

/** A schedule's place in time: one that is changed has a new one, and finds no slots of the time before it was. */
export const cursorOf = (report: FrozenDefinition): string =>
  `${nameOf(report)} ${report.definition.schedule.map(({ cron, timezone = report.settings.timezone }) => `${cron} ${timezone}`).join(' ')}`;

/** `<org>/<report>`. */
export const nameOf = ({ definition }: FrozenDefinition): string => `${definition.org}/${definition.report}`;

/**
 * Opens every slot that came due since the last look: BullMQ only wakes us, the record decides. Whoever else looks at
 * the same time opens nothing twice, since a slot's run has one id. A report seen for the first time starts from now.
 *
 * Slots of a paused organization are left due: its cursors stay, and when the pause is lifted they are slots that were
 * missed, of which `catch_up` decides. To skip them instead would lose for good what the report asks to be made up for.
 *
 * Throws `redis.unreachable` when the cursors cannot be read.
 */
export async function openDue(reports: readonly FrozenDefinition[], ports: DuePorts): Promise<Due> {
  const scheduled = reports.filter(({ definition }) => definition.schedule.length > 0);
  const now = ports.clock.now();
  const cursors = await ports.cursors.read(scheduled.map(cursorOf));
  const paused = await ports.paused?.();
  const unknown = scheduled.filter((_, index) => cursors[index] === undefined);
  if (unknown.length > 0) await ports.cursors.start(unknown.map(cursorOf), now);

  // Thousands of reports share a few schedules, and their cursors move together.
  const seen = new Map<string, readonly Slot[]>();
  const slotsSince = ({ definition, settings }: FrozenDefinition, after: number): readonly Slot[] => {
    const timetable = timetableOf(definition, settings);
    const key = JSON.stringify([timetable, after]);
    const slots = seen.get(key) ?? reportSlotsBetween(timetable, after, now);
    seen.set(key, slots);
    return slots;
  };
  const idle: string[] = [];
  const ahead: string[] = [];
  const due: { readonly report: FrozenDefinition; readonly cursor: number; readonly slots: readonly Slot[] }[] = [];
  scheduled.forEach((report, index) => {
    const cursor = cursors[index];
    if (cursor === undefined) return;
    if (cursor > now + ON_TIME_MS) {
      // Some machine's clock was ahead. Slots that were opened then are found again, and are open already.
      ahead.push(cursorOf(report));
      return;
    }
    const slots = slotsSince(report, Math.max(cursor, now - COUNTED_MS));
    const { org, report: id } = report.definition;
    if (slots.length > 0 && (paused?.has(org) || paused?.has(nameOf(report)))) {
      ports.log.debug('Slots wait: the organization or the report is paused', { org, report: id, count: slots.length });
    } else if (slots.length > 0) due.push({ report, cursor, slots });
    else if (cursor < now - ON_TIME_MS) idle.push(cursorOf(report));
  });
  if (ahead.length > 0) {
    ports.log.warn('Schedules were looked at by a clock that is ahead of this one; set back', { count: ahead.length });
  }
  // The cursor follows a schedule that has nothing due, though not every minute.
  await ports.cursors.pass([...idle, ...ahead], now);

  const total = { opened: 0, skipped: 0, failed: 0 };
  for (let from = 0; from < due.length; from += ABREAST) {
    const ends = await Promise.all(
      due.slice(from, from + ABREAST).map(({ report, cursor, slots }) => openSlots(report, slots, cursor, now, ports)),
    );
    for (const end of ends) {
      total.opened += end.opened;
      total.skipped += end.skipped;
      total.failed += end.failed;
    }
  }
  return total;
}

async function openSlots(
  report: FrozenDefinition,
  slots: readonly Slot[],
  cursor: number,
  now: number,
  { cursors, trigger, log }: DuePorts,
): Promise<Due> {
  const { org, report: id } = report.definition;
  const decided = [...new Set(slots.map(({ schedule }) => schedule))].map((schedule) => {
    const own = slots.filter((slot) => slot.schedule === schedule).map(({ at }) => at);
    return decide(own, now, schedule.catch_up);
  });
  const open = decided.flatMap((one) => one.open).sort((a, b) => a - b);
  const skipped = decided.flatMap((one) => one.skipped);
  let opened = 0;
  try {
    for (const scheduled of open) {
      const run = await trigger({
        ...report,
        slot: { scheduled },
        trigger: 'schedule',
        priority: 'scheduled',
        deliver: true,
      });
      if (run.opened) opened += 1;
    }
    // Only now: a process that dies before this line leaves the slots to the next look.
    const first = await cursors.advance(cursorOf(report), cursor, now);
    if (!first || skipped.length === 0) return { opened, skipped: 0, failed: 0 };
    for (const { slot, why } of skipped) {
      log.warn('Slot skipped', { org, report: id, slot: new Date(slot).toISOString(), why });
    }
    await cursors.countSkipped(nameOf(report), skipped.length);
    return { opened, skipped: skipped.length, failed: 0 };
  } catch (thrown) {
    log.error('Due slots could not be opened; the next look tries again', {
      org,
      report: id,
      error: toDocketError(thrown).toJSON(),
    });
    return { opened, skipped: 0, failed: 1 };
  }
}
