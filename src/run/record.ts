import type { ErrorJson } from '../base/error.ts';
import type { Period } from '../define/period.ts';
import type { Priority } from '../fetch/budget.ts';

export const RUN_STATES = [
  'queued',
  'running',
  'waiting',
  'done',
  'partly_delivered',
  'held',
  'cancelled',
  'failed',
  'skipped',
] as const;
export type RunState = (typeof RUN_STATES)[number];

/** States from which nothing moves by itself any more. `skipped`: the slot was never opened; `error` says why. */
export const ENDED: ReadonlySet<RunState> = new Set([
  'done',
  'partly_delivered',
  'held',
  'cancelled',
  'failed',
  'skipped',
]);

/** Why a run that had ended goes on: who asked for it. */
export interface Reopening {
  /**
   * `release`: a held pack goes out as it is. `retry`: what surely did not arrive is tried again. `resend`: one delivery
   * is sent again. `settle`: the last open delivery was declared sent.
   */
  readonly what: 'release' | 'retry' | 'resend' | 'settle';
  readonly by: string;
  readonly reason: string;
  /** Epoch ms. */
  readonly at: number;
}

/** What was asked for, frozen when the run was triggered; a retry reads this and nothing newer. */
export interface RunOrder {
  /** 32 hex digits of SHA-256 over `(org, report, slot)`: whoever opens the slot computes the same id. */
  readonly id: string;
  readonly org: string;
  readonly report: string;
  /** The scheduled instant (ISO, UTC), or `trigger:<id>`. */
  readonly slot: string;
  readonly trigger: 'schedule' | 'on_demand' | 'cli';
  readonly priority: Priority;
  readonly period: Period;
  /** The definition's digest: the version this run uses. */
  readonly digest: string;
  /** False: the files are made and archived, nothing is sent. */
  readonly deliver: boolean;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Fingerprint of the request that opened a `trigger:` slot: the same trigger id with another request is refused. */
  readonly asked?: string;
}

export interface RunRecord extends RunOrder {
  readonly state: RunState;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  /** Epoch ms until which the run sleeps, while `waiting`. */
  readonly until: number | null;
  readonly calls: { readonly planned: number; readonly made: number; readonly saved: number };
  readonly files: readonly { readonly name: string; readonly bytes: number; readonly sha256: string }[];
  readonly deliveries: readonly {
    readonly target: string;
    readonly recipient: string;
    readonly state: string;
    readonly detail: string | null;
  }[];
  readonly error: ErrorJson | null;
  /** In the order in which they were asked for. */
  readonly reopened: readonly Reopening[];
}

/** The record of runs. Opening a slot is one atomic step: whoever comes second is told so and finds the first. */
export interface RunStore {
  open(order: RunOrder): Promise<{ readonly opened: boolean; readonly record: RunRecord }>;
  get(id: string): Promise<RunRecord | undefined>;
  update(id: string, change: Partial<Omit<RunRecord, keyof RunOrder>>): Promise<void>;
  /** Newest first. */
  list(filter: { readonly org?: string; readonly report?: string; readonly limit: number }): Promise<RunRecord[]>;
}
