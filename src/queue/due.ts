import type { Clock } from '../base/clock.ts';
import { toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { type Decision, decide, decidePaused, ON_TIME_MS, together } from './catch-up.ts';
import type { Cursors, Move } from './cursors.ts';
import type { FrozenDefinition } from './definition-store.ts';
import type { RedisRunStore } from './run-store.ts';
import { MOST_RECORDED, recordSkips } from './skipped.ts';
import { nameOf, type Timing, timingsOf } from './timing.ts';
import type { Trigger } from './trigger.ts';

export { nameOf } from './timing.ts';

const DAY_MS = 86_400_000;
/** Slots are counted as skipped this far back; a server that was off for a year is not worth more. */
const COUNTED_MS = 31 * DAY_MS;
/** Reports that are looked at side by side. */
const ABREAST = 50;
/** Reports after which the process gets to do other work. */
const TURN = 200;
/** Records of skipped slots that one look writes for all reports together, about. */
const MOST_SKIPPED = 20_000;

/** What a look says of slots as it goes: for the metrics of this process. */
export interface SlotNews {
  readonly org: string;
  readonly report: string;
  readonly opened: number;
  /** Of those opened, the ones that were missed and made up for. */
  readonly late: number;
  readonly skipped: number;
}

/** What a look at the due slots needs. */
export interface DuePorts {
  readonly cursors: Cursors;
  readonly trigger: Trigger;
  readonly runs: Pick<RedisRunStore, 'skip'>;
  /** `<org>` and `<org>/<report>` whose scheduled runs wait; nobody's when absent. */
  readonly paused?: () => Promise<ReadonlyMap<string, unknown>>;
  readonly observe?: (news: SlotNews) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** What a look at the due slots did. */
export interface Due {
  /** Slots that this call opened; another process may have opened others. */
  readonly opened: number;
  readonly skipped: number;
  /** Reports whose slots could not be opened; their cursors stay, the next look tries again. */
  readonly failed: number;
  /** The oldest of those slots, epoch ms; absent where there is none. */
  readonly stuck?: number;
}

/**
 * What one process remembers between looks: until when (epoch ms) nothing can be due of a report, and how far each
 * schedule was looked at. It spares most of the reading of ten thousand cursors a minute, and where Redis has lost a
 * cursor the slots since are not lost with it.
 */
export interface DueMemory {
  quietUntil: WeakMap<FrozenDefinition, number>;
  stands: Map<string, number>;
  lookedAt: number;
}

export const dueMemory = (): DueMemory => ({
  quietUntil: new WeakMap(),
  stands: new Map(),
  lookedAt: Number.NEGATIVE_INFINITY,
});

/** A Redis that was rolled back has cursors of before, and has lost the runs that were opened since: so often it is asked. */
const ASK_AGAIN_MS = 5 * 60_000;

/**
 * Opens every slot that came due since the last look: BullMQ only wakes us, the record decides. Whoever else looks at
 * the same time opens nothing twice, since a slot's run has one id. A schedule seen for the first time starts from now.
 *
 * Slots of a paused report are left due: when the pause is lifted they are slots that were missed, of which `catch_up`
 * decides. To skip them at once would lose for good what the report asks to be made up for; those that have become too
 * old for that are skipped while the pause lasts.
 *
 * Throws `redis.unreachable` when the cursors cannot be read.
 */
export async function openDue(
  reports: readonly FrozenDefinition[],
  ports: DuePorts,
  memory: DueMemory = dueMemory(),
): Promise<Due> {
  const now = ports.clock.now();
  // A clock that was set back meets slots again that were looked at, and others that were not.
  if (now < memory.lookedAt) {
    memory.quietUntil = new WeakMap();
    memory.stands.clear();
  }
  memory.lookedAt = now;
  const candidates = reports
    .filter((report) => report.definition.schedule.length > 0 && !((memory.quietUntil.get(report) ?? 0) > now))
    .map((report) => ({ report, timings: timingsOf(report) }));
  if (candidates.length === 0) return NOTHING;
  const found = await readCursors(candidates, now, memory, ports);
  const compute = sharedSlots(now);

  const due: DueReport[] = [];
  const ahead: Move[] = [];
  for (const [index, { report, timings }] of candidates.entries()) {
    // Ten thousand timetables take seconds to read; whoever else has work here need not wait for all of them.
    if (index % TURN === TURN - 1) await new Promise((resolve) => setImmediate(resolve));
    const stands = timings.map((timing) => ({ timing, at: found.get(timing.cursor) ?? now }));
    const far = stands.filter(({ at }) => at > now + ON_TIME_MS);
    if (far.length > 0) {
      // Some machine's clock was ahead. Slots that were opened then are found again, and are open already; one that came
      // due since this process last asked may have been skipped by that clock.
      ahead.push(...far.map(({ timing, at }) => ({ cursor: timing.cursor, from: at, to: now - ASK_AGAIN_MS })));
      continue;
    }
    const slots = stands.map(({ timing, at }) => compute.between(timing, Math.max(at, now - COUNTED_MS)));
    if (slots.every((own) => own.length === 0)) {
      // Somebody else may just have started one a little earlier.
      if (timings.some(({ cursor }) => !found.has(cursor))) continue;
      const next = stands.map(({ timing, at }) => compute.next(timing, Math.max(at, now)));
      memory.quietUntil.set(report, Math.min(...next, now + ASK_AGAIN_MS));
      for (const { timing, at } of stands) memory.stands.set(timing.cursor, Math.max(at, now));
    } else due.push({ report, stands, slots });
  }
  if (ahead.length > 0) {
    ports.log.warn('Schedules were looked at by a clock that is ahead of this one; set back', { count: ahead.length });
    for (const move of ahead) await ports.cursors.advance([move]);
  }
  return due.length === 0 ? NOTHING : openAll(due, now, ports);
}

const NOTHING: Due = Object.freeze({ opened: 0, skipped: 0, failed: 0 });

interface DueReport {
  readonly report: FrozenDefinition;
  readonly stands: readonly { readonly timing: Timing; readonly at: number }[];
  /** Of each of its schedules, in the same order. */
  readonly slots: readonly (readonly number[])[];
}

async function readCursors(
  candidates: readonly { readonly timings: readonly Timing[] }[],
  now: number,
  { stands }: DueMemory,
  { cursors, log }: DuePorts,
): Promise<ReadonlyMap<string, number>> {
  const names = [...new Set(candidates.flatMap(({ timings }) => timings.map(({ cursor }) => cursor)))];
  const values = await cursors.read(names);
  const found = new Map<string, number>();
  const unknown: string[] = [];
  names.forEach((name, index) => {
    const value = values[index];
    if (value === undefined) unknown.push(name);
    else found.set(name, value);
  });
  const fresh = unknown.filter((name) => !stands.has(name));
  const broken = fresh.length > 0 ? await cursors.start(fresh, now) : [];
  for (const name of broken) {
    const [org = '', report = ''] = name.split(/[/ ]/);
    log.error(
      'Where a schedule stood cannot be read: it begins anew. See in `docket runs` what is missing, and make up for it with `docket backfill`',
      { org, report },
    );
  }
  for (const name of unknown) {
    const stood = stands.get(name);
    if (stood === undefined) continue;
    await cursors.start([name], stood);
    found.set(name, stood);
  }
  return found;
}

/** Thousands of reports share a few schedules, and their cursors move together. */
function sharedSlots(now: number) {
  const slots = new Map<string, readonly number[]>();
  const nexts = new Map<string, number>();
  return {
    between: (timing: Timing, after: number): readonly number[] => {
      const key = `${timing.key} ${after}`;
      const known = slots.get(key) ?? timing.between(after, now);
      slots.set(key, known);
      return known;
    },
    next: (timing: Timing, after: number): number => {
      const key = `${timing.key} ${after}`;
      const known = nexts.get(key) ?? timing.next(after) ?? Number.POSITIVE_INFINITY;
      nexts.set(key, known);
      return known;
    },
  };
}

async function openAll(due: readonly DueReport[], now: number, ports: DuePorts): Promise<Due> {
  const paused = await ports.paused?.();
  const most = Math.max(1, Math.min(MOST_RECORDED, Math.floor(MOST_SKIPPED / due.length)));
  const total = { opened: 0, skipped: 0, failed: 0 };
  const stuck: number[] = [];
  for (let from = 0; from < due.length; from += ABREAST) {
    const ends = await Promise.all(
      due.slice(from, from + ABREAST).map((one) => openOne(one, paused, now, most, ports)),
    );
    for (const end of ends) {
      total.opened += end.opened;
      total.skipped += end.skipped;
      total.failed += end.failed;
      if (end.stuck !== undefined) stuck.push(end.stuck);
    }
  }
  return stuck.length === 0 ? total : { ...total, stuck: Math.min(...stuck) };
}

async function openOne(
  one: DueReport,
  paused: ReadonlyMap<string, unknown> | undefined,
  now: number,
  most: number,
  ports: DuePorts,
): Promise<Due> {
  const { report, stands, slots } = one;
  const { org, report: id } = report.definition;
  const waits = paused?.has(org) || paused?.has(nameOf(report));
  const of = (decision: typeof decide) =>
    together(stands.map(({ timing }, index) => decision(slots[index] ?? [], now, timing)));
  const decision = of(waits ? decidePaused : decide);
  if (waits && decision.skipped.length === 0) {
    ports.log.debug('Slots wait: the organization or the report is paused', { org, report: id });
    return NOTHING;
  }
  try {
    const opened = await openSlots(one, decision, now, ports);
    const skipped = await skipSlots(report, decision, most, now, ports);
    // Only now: a process that dies before this line leaves the slots to the next look.
    await ports.cursors.advance(waits ? pastSkipped(one, now) : past(one, now));
    const late = decision.open.filter((slot) => slot < now - ON_TIME_MS).length;
    if (opened + skipped > 0) {
      ports.observe?.({ org, report: id, opened, late: Math.min(late, opened), skipped });
    }
    return { opened, skipped, failed: 0 };
  } catch (thrown) {
    ports.log.error('Due slots could not be opened; the next look tries again', {
      org,
      report: id,
      error: toDocketError(thrown).toJSON(),
    });
    return { ...NOTHING, failed: 1, stuck: Math.min(...slots.flatMap((own) => own.slice(0, 1))) };
  }
}

async function openSlots(one: DueReport, { open }: Decision, now: number, { trigger }: DuePorts): Promise<number> {
  let opened = 0;
  for (const scheduled of open) {
    // Where several schedules fall together, the one that is written first says how long the run waits.
    const index = one.slots.findIndex((own) => own.includes(scheduled));
    const begins = scheduled + (one.stands[index]?.timing.delayOf(scheduled) ?? 0);
    const run = await trigger({
      ...one.report,
      slot: { scheduled },
      delayMs: Math.max(0, begins - now),
      trigger: 'schedule',
      priority: 'scheduled',
      deliver: true,
    });
    if (run.opened) opened += 1;
  }
  return opened;
}

async function skipSlots(
  report: FrozenDefinition,
  { skipped }: Decision,
  most: number,
  now: number,
  { runs, cursors, log }: DuePorts,
): Promise<number> {
  if (skipped.length === 0) return 0;
  const { org, report: id } = report.definition;
  const count = await recordSkips(report, skipped, most, { runs, now });
  if (count === 0) return 0;
  await cursors.countSkipped(nameOf(report), count);
  const newest = skipped.at(-1);
  log.warn('Slots were skipped; `docket runs` lists them', {
    org,
    report: id,
    count,
    ...(newest === undefined ? {} : { slot: new Date(newest.slot).toISOString(), why: newest.why }),
  });
  return count;
}

const past = ({ stands }: DueReport, now: number): Move[] => moves(stands, () => now);

/** A paused report's cursors stand just behind what can never be made up for. */
const pastSkipped = ({ stands, slots }: DueReport, now: number): Move[] =>
  moves(stands, (timing, index) => decidePaused(slots[index] ?? [], now, timing).skipped.at(-1)?.slot);

/** Two schedules with the same slots have one cursor. None goes back. */
const moves = (stands: DueReport['stands'], to: (timing: Timing, index: number) => number | undefined): Move[] => [
  ...new Map(
    stands.map(({ timing, at }, index) => {
      const { cursor } = timing;
      return [cursor, { cursor, from: at, to: Math.max(at, to(timing, index) ?? at) }];
    }),
  ).values(),
];
