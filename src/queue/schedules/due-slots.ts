import type { Log } from '../../base/log.ts';
import { DAY_MS, MINUTE_MS } from '../../base/time.ts';
import type { FrozenDefinition } from '../definitions/definition-store.ts';
import { ON_TIME_TOLERANCE_MS } from './catch-up.ts';
import { type ReportSchedule, reportSchedules } from './report-schedules.ts';
import type { CursorMove, ScheduleCursors } from './schedule-cursors.ts';

/** Older slots are neither opened nor counted as skipped. */
const MAX_LOOKBACK_MS = 31 * DAY_MS;
/** Number of reports after which the scan yields to the event loop. */
const YIELD_EVERY = 200;
/**
 * How often cursors are read again. If Redis was rolled back, it has older cursors, and has lost the runs opened since.
 */
const CURSOR_RELOAD_INTERVAL_MS = 5 * MINUTE_MS;

/**
 * What a process remembers between scans. By report: until when (epoch ms) nothing is due; by cursor: its position.
 * This avoids reading ten thousand cursors every minute, and if Redis lost a cursor, the slots since then are not lost
 * with it.
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

/** A report with due slots. */
export interface DueReport {
  readonly report: FrozenDefinition;
  /** Its schedules, each with the instant (epoch ms) up to which its slots were processed. */
  readonly positions: readonly { readonly timing: ReportSchedule; readonly at: number }[];
  /** The due slots of each schedule, in the same order as `positions`; each list ascending. */
  readonly slots: readonly (readonly number[])[];
}

/**
 * Finds the reports with due slots. A schedule without a cursor starts now. A cursor in the future was written by a
 * clock that was ahead: it is set back, and its report waits for the next scan.
 */
export async function findDueReports(
  reports: readonly FrozenDefinition[],
  now: number,
  cache: DueSlotCache,
  ports: { readonly cursors: ScheduleCursors; readonly log: Log },
): Promise<readonly DueReport[]> {
  // After this clock was set back, cached positions may lie in its future.
  if (now < cache.scannedAt) {
    cache.quietUntil = new WeakMap();
    cache.positions.clear();
  }
  cache.scannedAt = now;
  const candidates = reports
    .filter((report) => report.definition.schedule.length > 0 && !((cache.quietUntil.get(report) ?? 0) > now))
    .map((report) => ({ report, timings: reportSchedules(report) }));
  if (candidates.length === 0) return [];
  const cursors = await readCursors(candidates, now, cache, ports);
  const compute = memoizeSlots(now);

  const due: DueReport[] = [];
  const resets: CursorMove[] = [];
  for (const [index, { report, timings }] of candidates.entries()) {
    // Computing the slots of ten thousand timetables takes seconds.
    if (index % YIELD_EVERY === YIELD_EVERY - 1) await new Promise((resolve) => setImmediate(resolve));
    const positions = timings.map((timing) => ({ timing, at: cursors.get(timing.cursor) ?? now }));
    const ahead = positions.filter(({ at }) => at > now + ON_TIME_TOLERANCE_MS);
    if (ahead.length > 0) {
      // Finds slots again that were already opened, which changes nothing. The process whose clock was ahead may have
      // skipped slots that came due since this process last read the cursors.
      resets.push(
        ...ahead.map(({ timing, at }) => ({ cursor: timing.cursor, from: at, to: now - CURSOR_RELOAD_INTERVAL_MS })),
      );
      continue;
    }
    const slots = positions.map(({ timing, at }) => compute.between(timing, Math.max(at, now - MAX_LOOKBACK_MS)));
    if (slots.some((own) => own.length > 0)) {
      due.push({ report, positions, slots });
      continue;
    }
    // Another process may have started a new schedule slightly earlier: read its cursor in the next scan.
    if (timings.some(({ cursor }) => !cursors.has(cursor))) continue;
    const next = positions.map(({ timing, at }) => compute.next(timing, Math.max(at, now)));
    cache.quietUntil.set(report, Math.min(...next, now + CURSOR_RELOAD_INTERVAL_MS));
    for (const { timing, at } of positions) cache.positions.set(timing.cursor, Math.max(at, now));
  }
  if (resets.length > 0) {
    ports.log.warn('Schedule cursors lie in the future, written by a clock that was ahead; set back', {
      count: resets.length,
    });
    for (const move of resets) await ports.cursors.advance([move]);
  }
  return due;
}

async function readCursors(
  candidates: readonly { readonly timings: readonly ReportSchedule[] }[],
  now: number,
  { positions }: DueSlotCache,
  { cursors, log }: { readonly cursors: ScheduleCursors; readonly log: Log },
): Promise<ReadonlyMap<string, number>> {
  const names = [...new Set(candidates.flatMap(({ timings }) => timings.map(({ cursor }) => cursor)))];
  const values = await cursors.read(names);
  const found = new Map<string, number>();
  const missing: string[] = [];
  names.forEach((name, index) => {
    const value = values[index];
    if (value === undefined) missing.push(name);
    else found.set(name, value);
  });
  const added = missing.filter((name) => !positions.has(name));
  const unreadable = added.length > 0 ? await cursors.initialize(added, now) : [];
  for (const name of unreadable) {
    const [org = '', report = ''] = name.split(/[/ ]/);
    log.error(
      'Schedule cursor is unreadable; restarting from now. Check `docket runs` for missing slots, and run them with `docket backfill`',
      { org, report },
    );
  }
  for (const name of missing) {
    const position = positions.get(name);
    if (position === undefined) continue;
    await cursors.initialize([name], position);
    found.set(name, position);
  }
  return found;
}

/** Thousands of reports share a few schedules, and their cursors move together, so computed slots are cached. */
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

/**
 * The cursor moves that change each position to `to`. Schedules with the same slots share a cursor. No cursor moves
 * back.
 */
export const cursorMoves = (
  positions: DueReport['positions'],
  to: (timing: ReportSchedule, index: number) => number | undefined,
): CursorMove[] => [
  ...new Map(
    positions.map(({ timing, at }, index) => {
      const { cursor } = timing;
      return [cursor, { cursor, from: at, to: Math.max(at, to(timing, index) ?? at) }];
    }),
  ).values(),
];
