import type { Clock } from '../../base/clock.ts';
import { forEachWithConcurrency, mapWithConcurrency } from '../../base/concurrency.ts';
import { DocketError, toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { expectedAt } from '../../run/lateness.ts';
import { createRunOrder } from '../../run/run-order.ts';
import type { FrozenDefinition } from '../definitions/definition-store.ts';
import type { RedisRunStore } from '../runs/run-store.ts';
import {
  type CatchUpDecision,
  decideCatchUp,
  decideWhilePaused,
  mergeDecisions,
  ON_TIME_TOLERANCE_MS,
  type SkippedSlot,
  type SkipReason,
} from './catch-up.ts';
import { createDueSlotCache, cursorMoves, type DueReport, type DueSlotCache, findDueReports } from './due-slots.ts';
import { findPause } from './pauses.ts';
import { reportName } from './report-schedules.ts';
import type { ScheduleCursors } from './schedule-cursors.ts';

/** Reports whose slots are opened at the same time. */
const CONCURRENCY = 50;
/** Approximately how many records of skipped slots one scan writes for all reports together. */
const MAX_SKIP_RECORDS = 20_000;

/** The slots of one report that a scan processed, for this process's metrics. */
export interface SlotEvent {
  readonly org: string;
  readonly report: string;
  readonly opened: number;
  /** How many of `opened` were missed slots that were caught up. */
  readonly late: number;
  readonly skipped: number;
}

/** Opens a slot of a report once: `triggerRun` of the services. */
export type OpenSlot = (
  request: FrozenDefinition & {
    readonly slot: { readonly scheduled: number };
    readonly delayMs: number;
    readonly lateAfterMs: number | undefined;
    /** Awaited before the run is enqueued. */
    readonly turn: Promise<void>;
    readonly trigger: 'schedule';
    readonly priority: 'scheduled';
    readonly deliver: true;
  },
) => Promise<{ readonly opened: boolean }>;

/** What a scan for due slots needs. */
export interface DueSlotPorts {
  readonly cursors: ScheduleCursors;
  readonly trigger: OpenSlot;
  readonly runs: RedisRunStore;
  /** The pauses by `<org>` and `<org>/<report>`. Absent: none. */
  readonly paused?: () => Promise<ReadonlyMap<string, unknown>>;
  readonly observe?: (event: SlotEvent) => void;
  readonly clock: Clock;
  readonly log: Log;
}

export interface DueSlotResult {
  /** Number of slots that this call opened. Another process may have opened others. */
  readonly opened: number;
  readonly skipped: number;
  /** Number of reports whose slots could not be opened. Their cursors stay, and the next scan tries again. */
  readonly failed: number;
  /** The oldest slot of these reports, epoch ms; absent if none failed. */
  readonly stuck?: number;
}

const NO_SLOTS: DueSlotResult = Object.freeze({ opened: 0, skipped: 0, failed: 0 });

/**
 * Opens every slot that came due since the last scan. BullMQ only triggers the scan; the run record decides. Concurrent
 * scans open nothing twice, since a slot's run always has the same id.
 *
 * Slots of a paused report stay due. After the pause they are missed slots, so `catch_up` decides about them. Slots too
 * old to be caught up are skipped during the pause.
 *
 * Throws `redis.unreachable` when the cursors cannot be read.
 */
export async function openDueSlots(
  reports: readonly FrozenDefinition[],
  ports: DueSlotPorts,
  cache: DueSlotCache = createDueSlotCache(),
): Promise<DueSlotResult> {
  const now = ports.clock.now();
  const due = await findDueReports(reports, now, cache, ports);
  if (due.length === 0) return NO_SLOTS;
  const paused = (await ports.paused?.()) ?? new Map();
  const maxSkips = Math.max(1, Math.min(MAX_SKIPS_RECORDED, Math.floor(MAX_SKIP_RECORDS / due.length)));
  const decided = due.map((one) => decideReport(one, paused, now));
  await openInOrder(decided, now, ports);
  const results = await mapWithConcurrency(decided, CONCURRENCY, (one) => finishReport(one, now, maxSkips, ports));
  const sum = (field: 'opened' | 'skipped' | 'failed') => results.reduce((total, result) => total + result[field], 0);
  const total = { opened: sum('opened'), skipped: sum('skipped'), failed: sum('failed') };
  const stuck = results.flatMap((result) => result.stuck ?? []);
  return stuck.length === 0 ? total : { ...total, stuck: Math.min(...stuck) };
}

/** A report with due slots, and the decision about them. */
interface DecidedReport extends DueReport {
  readonly isPaused: boolean;
  readonly decision: CatchUpDecision;
  /** How many runs this scan opened. */
  opened: number;
  /** The error of the first slot that could not be opened. */
  error: unknown;
}

function decideReport(due: DueReport, pauses: ReadonlyMap<string, unknown>, now: number): DecidedReport {
  const { org, report } = due.report.definition;
  const isPaused = findPause(pauses, org, report) !== undefined;
  const decide = isPaused ? decideWhilePaused : decideCatchUp;
  const decision = mergeDecisions(
    due.positions.map(({ timing }, index) => decide(due.slots[index] ?? [], now, timing)),
  );
  return { ...due, isPaused, decision, opened: 0, error: undefined };
}

/**
 * Opens the slots of all reports in parallel, but enqueues their runs one by one, in the order in which readers expect
 * them, then by name. A worker may take the first run before the last one is enqueued.
 */
async function openInOrder(reports: readonly DecidedReport[], now: number, { trigger }: DueSlotPorts): Promise<void> {
  const slots = reports
    .flatMap((one) =>
      one.decision.open.map((scheduled) => {
        // If several schedules have the same slot, the first one in the definition determines the run's delay.
        const { timing } = one.positions[one.slots.findIndex((own) => own.includes(scheduled))] ?? {};
        const lateAfterMs = timing?.lateAfterMs;
        const slot = new Date(scheduled).toISOString();
        const expected = expectedAt({ slot, ...(lateAfterMs === undefined ? {} : { lateAfterMs }) });
        return { one, scheduled, lateAfterMs, expected, startsAt: scheduled + (timing?.delayOf(scheduled) ?? 0) };
      }),
    )
    .sort((a, b) => a.expected - b.expected || (reportName(a.one.report) < reportName(b.one.report) ? -1 : 1));
  let last = Promise.resolve();
  await forEachWithConcurrency(slots, CONCURRENCY, async ({ one, scheduled, lateAfterMs, startsAt }) => {
    const turn = last;
    let done = () => {};
    last = new Promise((resolve) => {
      done = resolve;
    });
    try {
      if (one.error !== undefined) return;
      const run = await trigger({
        ...one.report,
        slot: { scheduled },
        delayMs: Math.max(0, startsAt - now),
        lateAfterMs,
        turn,
        trigger: 'schedule',
        priority: 'scheduled',
        deliver: true,
      });
      if (run.opened) one.opened += 1;
    } catch (thrown) {
      one.error ??= thrown;
    } finally {
      // After a failure too, this slot waits for its turn: the next slot must not overtake earlier ones.
      void turn.then(done);
    }
  });
}

async function finishReport(
  due: DecidedReport,
  now: number,
  maxSkips: number,
  ports: DueSlotPorts,
): Promise<DueSlotResult> {
  const { positions, slots, isPaused, decision, opened } = due;
  const { org, report } = due.report.definition;
  if (isPaused && decision.skipped.length === 0) {
    ports.log.debug('Slots wait: the organization or the report is paused', { org, report });
    return NO_SLOTS;
  }
  try {
    if (due.error !== undefined) throw due.error;
    const skipped = await skipSlots(due.report, decision, maxSkips, now, ports);
    // Moves the cursors last: after a crash before this line, the next scan finds the same slots.
    await ports.cursors.advance(
      cursorMoves(positions, (timing, index) =>
        // The cursor of a paused report moves only past slots that can never be caught up.
        isPaused ? decideWhilePaused(slots[index] ?? [], now, timing).skipped.at(-1)?.slot : now,
      ),
    );
    const late = decision.open.filter((slot) => slot < now - ON_TIME_TOLERANCE_MS).length;
    if (opened + skipped > 0) ports.observe?.({ org, report, opened, late: Math.min(late, opened), skipped });
    return { opened, skipped, failed: 0 };
  } catch (thrown) {
    ports.log.error('Due slots could not be opened; will retry', {
      org,
      report,
      error: toDocketError(thrown).toJSON(),
    });
    return { ...NO_SLOTS, failed: 1, stuck: Math.min(...slots.flatMap((own) => own.slice(0, 1))) };
  }
}

async function skipSlots(
  report: FrozenDefinition,
  { skipped }: CatchUpDecision,
  maxSkips: number,
  now: number,
  { runs, cursors, log }: DueSlotPorts,
): Promise<number> {
  if (skipped.length === 0) return 0;
  const { org, report: id } = report.definition;
  const count = await recordSkippedSlots(report, skipped, maxSkips, { runs, now });
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

/** Most skipped slots of a report that get a record each in one scan. The oldest record names the others. */
const MAX_SKIPS_RECORDED = 100;

const SKIP_REASONS: Record<SkipReason, string> = {
  catch_up: 'it was missed, and its schedule catches up none (catch_up: skip)',
  superseded: 'it was missed, and a later one was opened instead (catch_up: latest)',
  too_old: 'it was missed, and is older than its catch_up_window',
  paused: 'its report was paused until it was older than its catch_up_window',
};

/**
 * Records slots that are not opened, each as a run in state `skipped`. Returns how many this call skipped, not counting
 * those opened or skipped before.
 *
 * @param skips ascending
 * @param maxRecords for more slots, the oldest record names the earlier ones
 */
export async function recordSkippedSlots(
  report: FrozenDefinition,
  skips: readonly SkippedSlot[],
  maxRecords: number,
  { runs, now }: { readonly runs: RedisRunStore; readonly now: number },
): Promise<number> {
  const recorded = skips.slice(-maxRecords);
  const others = skips.slice(0, skips.length - recorded.length);
  let count = 0;
  for (const [index, { slot, why }] of recorded.entries()) {
    const order = createRunOrder({
      ...report,
      trigger: 'schedule',
      priority: 'scheduled',
      slot: new Date(slot).toISOString(),
      at: slot,
      deliver: true,
      now,
    });
    const { from, to } = order.period;
    const more = index === 0 && others.length > 0 ? `, and so were ${summarizeSkipped(others)}` : '';
    const error = new DocketError('run.skipped', `The slot was skipped: ${SKIP_REASONS[why]}${more}.`, {
      got: why,
      next: `To catch it up, run \`docket run ${reportName(report)} --period ${from}..${to}\`.`,
    });
    if (await runs.skip(order, error.toJSON())) count += index === 0 ? 1 + others.length : 1;
  }
  return count;
}

const summarizeSkipped = (others: readonly SkippedSlot[]): string => {
  const [first, last] = [others[0], others.at(-1)].map((skip) => new Date(skip?.slot ?? 0).toISOString());
  return others.length === 1 ? `the one of ${first}` : `${others.length} before it, from ${first} to ${last}`;
};
