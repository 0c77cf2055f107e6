import type { Clock } from '../../base/clock.ts';
import { mapWithConcurrency } from '../../base/concurrency.ts';
import { toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import type { FrozenDefinition, ScheduledReport } from '../definitions/definition-store.ts';
import type { RedisRunStore } from '../runs/run-store.ts';
import {
  type CatchUpDecision,
  decideCatchUp,
  decideWhilePaused,
  mergeDecisions,
  ON_TIME_TOLERANCE_MS,
} from './catch-up.ts';
import { createDueSlotCache, cursorMoves, type DueReport, type DueSlotCache, findDueReports } from './due-slots.ts';
import { findPause } from './pauses.ts';
import { reportName } from './report-schedules.ts';
import type { ScheduleCursors } from './schedule-cursors.ts';
import { MAX_SKIPS_RECORDED, recordSkippedSlots } from './skipped-slots.ts';

/** Reports whose slots are opened at the same time. */
const CONCURRENCY = 50;
/** Records of skipped slots that one scan writes for all reports together, approximately. */
const MAX_SKIP_RECORDS = 20_000;

/** Slots of one report that a scan processed: for the metrics of this process. */
export interface SlotEvent {
  readonly org: string;
  readonly report: string;
  readonly opened: number;
  /** Of those opened, the missed ones that were caught up. */
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
  /** The whole definition of a report; undefined: it is left to other schedulers. Absent: all reports are whole. */
  readonly load?: (report: ScheduledReport) => Promise<FrozenDefinition | undefined>;
  readonly runs: Pick<RedisRunStore, 'skip'>;
  /** The pauses by `<org>` and `<org>/<report>`; none when absent. */
  readonly paused?: () => Promise<ReadonlyMap<string, unknown>>;
  readonly observe?: (event: SlotEvent) => void;
  readonly clock: Clock;
  readonly log: Log;
}

export interface DueSlotResult {
  /** Slots that this call opened; another process may have opened others. */
  readonly opened: number;
  readonly skipped: number;
  /** Reports whose slots could not be opened. Their cursors stay; the next scan tries again. */
  readonly failed: number;
  /** The oldest slot of those, epoch ms; absent without any. */
  readonly stuck?: number;
}

const NO_SLOTS: DueSlotResult = Object.freeze({ opened: 0, skipped: 0, failed: 0 });

/**
 * Opens every slot that came due since the last scan: BullMQ only triggers the scan, the run record decides. Concurrent
 * scans open nothing twice, since a slot's run has one id.
 *
 * Slots of a paused report stay due: once it is resumed they are missed slots, for which `catch_up` decides. Those that
 * are too old to be caught up are skipped during the pause.
 *
 * Throws `redis.unreachable` when the cursors cannot be read.
 */
export async function openDueSlots(
  reports: readonly ScheduledReport[],
  ports: DueSlotPorts,
  cache: DueSlotCache = createDueSlotCache(),
): Promise<DueSlotResult> {
  const now = ports.clock.now();
  const due = await findDueReports(reports, now, cache, ports);
  if (due.length === 0) return NO_SLOTS;
  const paused = (await ports.paused?.()) ?? new Map();
  const maxSkips = Math.max(1, Math.min(MAX_SKIPS_RECORDED, Math.floor(MAX_SKIP_RECORDS / due.length)));
  const results = await mapWithConcurrency(due, CONCURRENCY, (one) => openReport(one, paused, now, maxSkips, ports));
  const sum = (field: 'opened' | 'skipped' | 'failed') => results.reduce((total, result) => total + result[field], 0);
  const total = { opened: sum('opened'), skipped: sum('skipped'), failed: sum('failed') };
  const stuck = results.flatMap((result) => result.stuck ?? []);
  return stuck.length === 0 ? total : { ...total, stuck: Math.min(...stuck) };
}

async function openReport(
  due: DueReport,
  pauses: ReadonlyMap<string, unknown>,
  now: number,
  maxSkips: number,
  ports: DueSlotPorts,
): Promise<DueSlotResult> {
  const { positions, slots } = due;
  const { org, report } = due.report.definition;
  const isPaused = findPause(pauses, org, report) !== undefined;
  const decide = isPaused ? decideWhilePaused : decideCatchUp;
  const decision = mergeDecisions(positions.map(({ timing }, index) => decide(slots[index] ?? [], now, timing)));
  if (isPaused && decision.skipped.length === 0) {
    ports.log.debug('Slots wait: the organization or the report is paused', { org, report });
    return NO_SLOTS;
  }
  try {
    const whole = await wholeReport(due.report, ports);
    if (whole === undefined) return NO_SLOTS;
    const opened = await openSlots(whole, due, decision, now, ports);
    const skipped = await skipSlots(whole, decision, maxSkips, now, ports);
    // Last: after a crash before this line, the next scan finds the same slots.
    await ports.cursors.advance(
      cursorMoves(positions, (timing, index) =>
        // Of a paused report, past the slots that can never be caught up.
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

const wholeReport = async (report: ScheduledReport, { load }: DueSlotPorts): Promise<FrozenDefinition | undefined> =>
  isWhole(report) ? report : load?.(report);

const isWhole = (report: ScheduledReport): report is FrozenDefinition => 'sections' in report.definition;

async function openSlots(
  report: FrozenDefinition,
  { positions, slots }: DueReport,
  { open }: CatchUpDecision,
  now: number,
  { trigger }: DueSlotPorts,
): Promise<number> {
  let opened = 0;
  for (const scheduled of open) {
    // Where several schedules have the same slot, the first one in the definition gives the run's delay.
    const index = slots.findIndex((own) => own.includes(scheduled));
    const startsAt = scheduled + (positions[index]?.timing.delayOf(scheduled) ?? 0);
    const run = await trigger({
      ...report,
      slot: { scheduled },
      delayMs: Math.max(0, startsAt - now),
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
