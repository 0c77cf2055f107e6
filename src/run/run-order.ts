import { sha256 } from '../base/sha256.ts';
import { DAY_MS } from '../base/time.ts';
import { resolveRunPeriods } from '../definitions/periods/period.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import type { Definition, PeriodSpec } from '../definitions/schema/report-definition.ts';
import type { CurrentCountsWindow } from '../fetch/current-counts.ts';
import type { RunOrder } from './run-record.ts';

/** A run's id: 32 hex digits. The same slot always has the same id. */
export const runId = (org: string, report: string, slot: string): string =>
  sha256(JSON.stringify([org, report, slot])).slice(0, 32);

export interface RunOrderRequest {
  readonly definition: Definition;
  readonly settings: OrgSettings;
  readonly trigger: RunOrder['trigger'];
  readonly priority: RunOrder['priority'];
  /** The scheduled instant (ISO, UTC), or `trigger:<id>`. */
  readonly slot: string;
  /** Epoch ms from which the period is computed: the scheduled instant, or the current time. */
  readonly at: number;
  /** Used instead of the definition's period. */
  readonly period?: PeriodSpec;
  readonly deliver: boolean;
  /** In a report with `split`: make only the pack of this value. */
  readonly value?: string | undefined;
  /** Delivers even if another run has already delivered the period. */
  readonly again?: boolean | undefined;
  /** The actor who made the request; absent for scheduled runs. */
  readonly by?: string;
  /** Absent for users of the shell, who do not sign in. */
  readonly bySubject?: string;
  /** Ms; see `RunOrder`. */
  readonly lateAfterMs?: number | undefined;
  /** Epoch ms. */
  readonly now: number;
}

/** Freezes a request: periods become dates, the definition becomes its digest. A retry a month later uses the same. */
export function createRunOrder(request: RunOrderRequest): RunOrder {
  const { definition, settings } = request;
  return Object.freeze({
    id: runId(definition.org, definition.report, request.slot),
    org: definition.org,
    report: definition.report,
    slot: request.slot,
    trigger: request.trigger,
    ...(request.by === undefined ? {} : { by: request.by }),
    ...(request.bySubject === undefined ? {} : { bySubject: request.bySubject }),
    priority: request.priority,
    ...resolveRunPeriods(definition, settings, request.at, request.period),
    digest: definition.digest,
    deliver: request.deliver,
    ...(request.value === undefined ? {} : { value: request.value }),
    ...(request.again === true && { again: true as const }),
    createdAt: request.now,
    deadlineMs: definition.deadline * 1000,
    ...(request.lateAfterMs === undefined ? {} : { lateAfterMs: request.lateAfterMs }),
  });
}

/** Current counts requested later than this after the slot do not match it. */
const CURRENT_COUNTS_MAX_DELAY_MS = DAY_MS;

/**
 * When the run may show current counts: up to a day after its slot, or after it was triggered. Never in a backfill or a
 * corrected edition, because their period is past.
 */
export function currentCountsWindow({ trigger, priority, slot, createdAt, corrects }: RunOrder): CurrentCountsWindow {
  const due = trigger === 'schedule' ? Date.parse(slot) : createdAt;
  // The period of a corrected edition is past, too.
  const backfill = trigger === 'backfill' || priority === 'backfill' || corrects !== undefined;
  return {
    until: backfill ? Number.NEGATIVE_INFINITY : due + CURRENT_COUNTS_MAX_DELAY_MS,
    why: backfill ? 'backfill' : 'late',
    due: new Date(due).toISOString(),
  };
}
