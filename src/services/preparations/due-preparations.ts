import { HOUR_MS, MINUTE_MS } from '../../base/time.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import { reportSchedules } from '../../queue/schedules/report-schedules.ts';
import { runId } from '../../run/run-order.ts';

/** A slot whose calls may be made now. Instants are epoch ms. */
export interface DuePreparation {
  readonly report: FrozenDefinition;
  /** Id of its run, which is opened at the slot. */
  readonly run: string;
  readonly slot: number;
  /** The slot plus its jitter. */
  readonly begins: number;
  /** When calls may begin: `prepare` before `begins`, but after the previous slot. */
  readonly from: number;
}

/** The longest possible jitter. */
const MAX_JITTER_MS = HOUR_MS;
/** How long a report without a slot to prepare is skipped. Its slots only change with its definition. */
const MAX_QUIET_MS = 5 * MINUTE_MS;

/** A slot of a report, and when its run begins. If several schedules have the slot, the first one decides. */
interface BeginningSlot {
  readonly slot: number;
  readonly begins: number;
  /** Undefined: the slot is not prepared. In ms. */
  readonly prepareMs: number | undefined;
  /** Ms after the slot within which readers expect the report; undefined without `late_after`. */
  readonly lateAfterMs: number | undefined;
}

/** A report's slots whose runs begin after `after` and up to `upTo`, ascending. */
export function beginningSlots(report: FrozenDefinition, after: number, upTo: number): readonly BeginningSlot[] {
  const { schedule } = report.definition;
  const found = new Map<number, BeginningSlot>();
  for (const [index, timing] of reportSchedules(report).entries()) {
    const { prepare } = schedule[index] ?? {};
    for (const slot of timing.between(after - MAX_JITTER_MS, upTo)) {
      const begins = slot + timing.delayOf(slot);
      if (found.has(slot)) continue;
      const prepareMs = prepare === undefined ? undefined : prepare * 1000;
      found.set(slot, { slot, begins, prepareMs, lateAfterMs: timing.lateAfterMs });
    }
  }
  return [...found.values()]
    .filter(({ begins }) => begins > after && begins <= upTo)
    .sort((one, other) => one.begins - other.begins);
}

const longestPrepareMs = ({ definition: { schedule } }: FrozenDefinition): number =>
  Math.max(0, ...schedule.map(({ prepare = 0 }) => prepare * 1000));

/** Whether any slot of the report is prepared. */
export const isPrepared = (report: FrozenDefinition): boolean => longestPrepareMs(report) > 0;

/** Finds the slots that may be prepared now, the next ones first. Remembers how long each report has none. */
export function createDuePreparations(): (
  reports: readonly FrozenDefinition[],
  now: number,
) => readonly DuePreparation[] {
  const quiet = new WeakMap<FrozenDefinition, { readonly since: number; readonly until: number }>();
  const findDue = (report: FrozenDefinition, now: number): readonly DuePreparation[] => {
    const known = quiet.get(report);
    // After the clock was set back, it may be before a slot that was considered over.
    if (known !== undefined && known.since <= now && now < known.until) return [];
    const { org, report: id } = report.definition;
    const slots = beginningSlots(report, now - MAX_QUIET_MS, now + longestPrepareMs(report) + MAX_QUIET_MS);
    const all = slots.flatMap(({ slot, begins, prepareMs }, index): DuePreparation[] => {
      if (prepareMs === undefined) return [];
      const run = runId(org, id, new Date(slot).toISOString());
      const before = slots[index - 1]?.begins ?? Number.NEGATIVE_INFINITY;
      return [{ report, run, slot, begins, from: Math.max(begins - prepareMs, before) }];
    });
    const due = all.filter(({ from, begins }) => from <= now && now < begins);
    if (due.length === 0) {
      const next = all.map(({ from }) => from).filter((from) => from > now);
      quiet.set(report, { since: now, until: Math.min(now + MAX_QUIET_MS, ...next) });
    }
    return due;
  };
  return (reports, now) =>
    reports
      .filter(isPrepared)
      .flatMap((report) => findDue(report, now))
      .sort((one, other) => one.begins - other.begins || (one.run < other.run ? -1 : 1));
}

/** How far ahead (ms) a report's next run is searched for at once. */
const SEARCHED_MS = 15 * MINUTE_MS;

/**
 * Until when preparations with a key may take tokens: two windows before the next run that begins with it, so that all
 * tokens have returned by then. Includes reports without `prepare`. Looks at most a minute ahead: call it again then.
 */
export function createTokensFreeAt(): (reports: readonly FrozenDefinition[], now: number, windowMs: number) => number {
  const known = new WeakMap<
    FrozenDefinition,
    { readonly since: number; readonly until: number; readonly next: number }
  >();
  const findNext = (report: FrozenDefinition, now: number, spanMs: number): number => {
    const found = known.get(report);
    if (found !== undefined && found.since <= now && now + spanMs < found.until) return found.next;
    const upTo = now + spanMs + SEARCHED_MS;
    const next = beginningSlots(report, now, upTo)[0]?.begins ?? Number.POSITIVE_INFINITY;
    known.set(report, { since: now, until: Math.min(next + spanMs, upTo), next });
    return next;
  };
  return (reports, now, windowMs) => {
    const spanMs = 2 * windowMs + MINUTE_MS;
    const next = Math.min(...reports.map((report) => findNext(report, now, spanMs)), Number.POSITIVE_INFINITY);
    return Math.min(now + MINUTE_MS, next - 2 * windowMs);
  };
}
