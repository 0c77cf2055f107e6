import { createHash } from 'node:crypto';
import type { Definition, PeriodSpec } from '../define/definition.ts';
import type { OrgSettings } from '../define/org.ts';
import { periodOf } from '../define/period.ts';
import type { CountsWindow } from '../fetch/current-counts.ts';
import type { RunOrder } from './record.ts';

/** A run's identity: whoever opens the slot computes the same 32 hex digits. */
export const runId = (org: string, report: string, slot: string): string =>
  createHash('sha256')
    .update(JSON.stringify([org, report, slot]))
    .digest('hex')
    .slice(0, 32);

export interface OrderRequest {
  readonly definition: Definition;
  readonly settings: OrgSettings;
  readonly trigger: RunOrder['trigger'];
  readonly priority: RunOrder['priority'];
  /** The scheduled instant (ISO, UTC), or `trigger:<id>`. */
  readonly slot: string;
  /** Epoch ms from which the period is computed: the scheduled instant, or now. */
  readonly at: number;
  /** Replaces the definition's own. */
  readonly period?: PeriodSpec;
  readonly deliver: boolean;
  /** Who asks; absent where nobody does. */
  readonly by?: string;
  /** Epoch ms. */
  readonly now: number;
}

/** Freezes what was asked for: the period becomes dates, the definition its digest. A retry a month later reads the same. */
export function orderRun(request: OrderRequest): RunOrder {
  const { definition, settings } = request;
  return Object.freeze({
    id: runId(definition.org, definition.report, request.slot),
    org: definition.org,
    report: definition.report,
    slot: request.slot,
    trigger: request.trigger,
    ...(request.by === undefined ? {} : { by: request.by }),
    priority: request.priority,
    period: periodOf(definition, settings, request.at, request.period),
    digest: definition.digest,
    deliver: request.deliver,
    createdAt: request.now,
    deadlineMs: definition.deadline * 1000,
  });
}

/** A run that asks so much later shows no current counts: they are not those of its slot. */
const COUNTS_MS = 24 * 3_600_000;

/**
 * Until when the run may still show current counts: a day from its slot, or from when it was asked for. A backfill is of
 * the past, whoever opened it and how soon it is made.
 */
export function countsWindow({ trigger, priority, slot, createdAt }: RunOrder): CountsWindow {
  const due = trigger === 'schedule' ? Date.parse(slot) : createdAt;
  const backfill = trigger === 'backfill' || priority === 'backfill';
  return {
    until: backfill ? Number.NEGATIVE_INFINITY : due + COUNTS_MS,
    why: backfill ? 'backfill' : 'late',
    due: new Date(due).toISOString(),
  };
}
