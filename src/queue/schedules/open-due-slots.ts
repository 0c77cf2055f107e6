import type { Clock } from '../../base/clock.ts';
import { toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import type { FrozenDefinition } from '../definitions/definition-store.ts';
import type { RedisRunStore } from '../runs/run-store.ts';
import {
  type CatchUpDecision,
  decideCatchUp,
  decideWhilePaused,
  mergeDecisions,
  ON_TIME_TOLERANCE_MS,
} from './catch-up.ts';
import { type ReportSchedule, reportName, reportSchedules } from './report-schedules.ts';
import type { CursorMove, ScheduleCursors } from './schedule-cursors.ts';
import { MAX_SKIPS_RECORDED, recordSkippedSlots } from './skipped-slots.ts';

export { reportName as nameOf } from './report-schedules.ts';

const DAY_MS = 86_400_000;
/** Slots are counted as skipped this far back; a server that was off for a year is not worth more. */
const MAX_LOOKBACK_MS = 31 * DAY_MS;
/** Reports that are looked at side by side. */
const CONCURRENCY = 50;
/** Reports after which the process gets to do other work. */
const YIELD_EVERY = 200;
/** Records of skipped slots that one look writes for all reports together, about. */
const MAX_SKIP_RECORDS = 20_000;

/** What a look says of slots as it goes: for the metrics of this process. */
export interface SlotEvent {
  readonly org: string;
  readonly report: string;
  readonly opened: number;
  /** Of those opened, the ones that were missed and made up for. */
  readonly late: number;
  readonly skipped: number;
}

/** Opens the slot of a report once: `triggerRun` of the services. */
export type OpenSlot = (
  request: FrozenDefinition & {
    readonly slot: { readonly scheduled: number };
    readonly delayMs: number;
    readonly trigger: 'schedule';
    readonly priority: 'scheduled';
    readonly deliver: true;
  },
) => Promise<{ readonly opened: boolean }>;

/** What a look at the due slots needs. */
export interface DueSlotPorts {
  readonly cursors: ScheduleCursors;
  readonly trigger: OpenSlot;
  readonly runs: Pick<RedisRunStore, 'skip'>;
  /** `<org>` and `<org>/<report>` whose scheduled runs wait; nobody's when absent. */
  readonly paused?: () => Promise<ReadonlyMap<string, unknown>>;
  readonly observe?: (news: SlotEvent) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** What a look at the due slots did. */
export interface DueSlotResult {
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
export interface DueSlotCache {
  quietUntil: WeakMap<FrozenDefinition, number>;
  positions: Map<string, number>;
  scannedAt: number;
}

export const createDueSlotCache = (): DueSlotCache => ({
  quietUntil: new WeakMap(),
  positions: new Map(),
  scannedAt: Number.NEGATIVE_INFINITY,
});

/** A Redis that was rolled back has cursors of before, and has lost the runs that were opened since: so often it is asked. */
const CURSOR_RELOAD_INTERVAL_MS = 5 * 60_000;

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
export async function openDueSlots(
  reports: readonly FrozenDefinition[],
  ports: DueSlotPorts,
  memory: DueSlotCache = createDueSlotCache(),
): Promise<DueSlotResult> {
  const now = ports.clock.now();
  // A clock that was set back meets slots again that were looked at, and others that were not.
  if (now < memory.scannedAt) {
    memory.quietUntil = new WeakMap();
    memory.positions.clear();
  }
  memory.scannedAt = now;
  const candidates = reports
    .filter((report) => report.definition.schedule.length > 0 && !((memory.quietUntil.get(report) ?? 0) > now))
    .map((report) => ({ report, timings: reportSchedules(report) }));
  if (candidates.length === 0) return NO_SLOTS;
  const found = await readCursors(candidates, now, memory, ports);
  const compute = memoizeSlots(now);

  const due: DueReport[] = [];
  const ahead: CursorMove[] = [];
  for (const [index, { report, timings }] of candidates.entries()) {
    // Ten thousand timetables take seconds to read; whoever else has work here need not wait for all of them.
    if (index % YIELD_EVERY === YIELD_EVERY - 1) await new Promise((resolve) => setImmediate(resolve));
    const positions = timings.map((timing) => ({ timing, at: found.get(timing.cursor) ?? now }));
    const far = positions.filter(({ at }) => at > now + ON_TIME_TOLERANCE_MS);
    if (far.length > 0) {
      // Some machine's clock was ahead. Slots that were opened then are found again, and are open already; one that came
      // due since this process last asked may have been skipped by that clock.
      ahead.push(
        ...far.map(({ timing, at }) => ({ cursor: timing.cursor, from: at, to: now - CURSOR_RELOAD_INTERVAL_MS })),
      );
      continue;
    }
    const slots = positions.map(({ timing, at }) => compute.between(timing, Math.max(at, now - MAX_LOOKBACK_MS)));
    if (slots.every((own) => own.length === 0)) {
      // Somebody else may just have started one a little earlier.
      if (timings.some(({ cursor }) => !found.has(cursor))) continue;
      const next = positions.map(({ timing, at }) => compute.next(timing, Math.max(at, now)));
      memory.quietUntil.set(report, Math.min(...next, now + CURSOR_RELOAD_INTERVAL_MS));
      for (const { timing, at } of positions) memory.positions.set(timing.cursor, Math.max(at, now));
    } else due.push({ report, positions, slots });
  }
  if (ahead.length > 0) {
    ports.log.warn('Schedules were looked at by a clock that is ahead of this one; set back', { count: ahead.length });
    for (const move of ahead) await ports.cursors.advance([move]);
  }
  return due.length === 0 ? NO_SLOTS : openReports(due, now, ports);
}

const NO_SLOTS: DueSlotResult = Object.freeze({ opened: 0, skipped: 0, failed: 0 });

interface DueReport {
  readonly report: FrozenDefinition;
  readonly positions: readonly { readonly timing: ReportSchedule; readonly at: number }[];
  /** Of each of its schedules, in the same order. */
  readonly slots: readonly (readonly number[])[];
}

async function readCursors(
  candidates: readonly { readonly timings: readonly ReportSchedule[] }[],
  now: number,
  { positions }: DueSlotCache,
  { cursors, log }: DueSlotPorts,
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
  const fresh = unknown.filter((name) => !positions.has(name));
  const broken = fresh.length > 0 ? await cursors.initialize(fresh, now) : [];
  for (const name of broken) {
    const [org = '', report = ''] = name.split(/[/ ]/);
    log.error(
      'Where a schedule stood cannot be read: it begins anew. See in `docket runs` what is missing, and make up for it with `docket backfill`',
      { org, report },
    );
  }
  for (const name of unknown) {
    const stood = positions.get(name);
    if (stood === undefined) continue;
    await cursors.initialize([name], stood);
    found.set(name, stood);
  }
  return found;
}

/** Thousands of reports share a few schedules, and their cursors move together. */
function memoizeSlots(now: number) {
  const slots = new Map<string, readonly number[]>();
  const nexts = new Map<string, number>();
  return {
    between: (timing: ReportSchedule, after: number): readonly number[] => {
      const key = `${timing.key} ${after}`;
      const known = slots.get(key) ?? timing.between(after, now);
      slots.set(key, known);
      return known;
    },
    next: (timing: ReportSchedule, after: number): number => {
      const key = `${timing.key} ${after}`;
      const known = nexts.get(key) ?? timing.next(after) ?? Number.POSITIVE_INFINITY;
      nexts.set(key, known);
      return known;
    },
  };
}

async function openReports(due: readonly DueReport[], now: number, ports: DueSlotPorts): Promise<DueSlotResult> {
  const paused = await ports.paused?.();
  const most = Math.max(1, Math.min(MAX_SKIPS_RECORDED, Math.floor(MAX_SKIP_RECORDS / due.length)));
  const total = { opened: 0, skipped: 0, failed: 0 };
  const stuck: number[] = [];
  for (let from = 0; from < due.length; from += CONCURRENCY) {
    const ends = await Promise.all(
      due.slice(from, from + CONCURRENCY).map((one) => openReport(one, paused, now, most, ports)),
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

async function openReport(
  one: DueReport,
  paused: ReadonlyMap<string, unknown> | undefined,
  now: number,
  most: number,
  ports: DueSlotPorts,
): Promise<DueSlotResult> {
  const { report, positions, slots } = one;
  const { org, report: id } = report.definition;
  const waits = paused?.has(org) || paused?.has(reportName(report));
  const of = (decision: typeof decideCatchUp) =>
    mergeDecisions(positions.map(({ timing }, index) => decision(slots[index] ?? [], now, timing)));
  const decision = of(waits ? decideWhilePaused : decideCatchUp);
  if (waits && decision.skipped.length === 0) {
    ports.log.debug('Slots wait: the organization or the report is paused', { org, report: id });
    return NO_SLOTS;
  }
  try {
    const opened = await openSlots(one, decision, now, ports);
    const skipped = await skipSlots(report, decision, most, now, ports);
    // Only now: a process that dies before this line leaves the slots to the next look.
    await ports.cursors.advance(waits ? advancePastSkipped(one, now) : advanceToNow(one, now));
    const late = decision.open.filter((slot) => slot < now - ON_TIME_TOLERANCE_MS).length;
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
    return { ...NO_SLOTS, failed: 1, stuck: Math.min(...slots.flatMap((own) => own.slice(0, 1))) };
  }
}

async function openSlots(
  one: DueReport,
  { open }: CatchUpDecision,
  now: number,
  { trigger }: DueSlotPorts,
): Promise<number> {
  let opened = 0;
  for (const scheduled of open) {
    // Where several schedules fall together, the one that is written first says how long the run waits.
    const index = one.slots.findIndex((own) => own.includes(scheduled));
    const begins = scheduled + (one.positions[index]?.timing.delayOf(scheduled) ?? 0);
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
  { skipped }: CatchUpDecision,
  most: number,
  now: number,
  { runs, cursors, log }: DueSlotPorts,
): Promise<number> {
  if (skipped.length === 0) return 0;
  const { org, report: id } = report.definition;
  const count = await recordSkippedSlots(report, skipped, most, { runs, now });
  if (count === 0) return 0;
  await cursors.countSkipped(reportName(report), count);
  const newest = skipped.at(-1);
  log.warn('Slots were skipped; `docket runs` lists them', {
    org,
    report: id,
    count,
    ...(newest === undefined ? {} : { slot: new Date(newest.slot).toISOString(), why: newest.why }),
  });
  return count;
}

const advanceToNow = ({ positions }: DueReport, now: number): CursorMove[] => cursorMoves(positions, () => now);

/** A paused report's cursors stand just behind what can never be made up for. */
const advancePastSkipped = ({ positions, slots }: DueReport, now: number): CursorMove[] =>
  cursorMoves(positions, (timing, index) => decideWhilePaused(slots[index] ?? [], now, timing).skipped.at(-1)?.slot);

/** Two schedules with the same slots have one cursor. None goes back. */
const cursorMoves = (
  stands: DueReport['positions'],
  to: (timing: ReportSchedule, index: number) => number | undefined,
): CursorMove[] => [
  ...new Map(
    stands.map(({ timing, at }, index) => {
      const { cursor } = timing;
      return [cursor, { cursor, from: at, to: Math.max(at, to(timing, index) ?? at) }];
    }),
  ).values(),
];
