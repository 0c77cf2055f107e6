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

export const TRIGGERS = ['schedule', 'on_demand', 'cli', 'backfill'] as const;
export type RunTrigger = (typeof TRIGGERS)[number];

export const STAGES = ['plan', 'fetch', 'render', 'seal', 'deliver'] as const;
/** What a run does one after the other. Waiting for a token belongs to the stage that waits. */
export type Stage = (typeof STAGES)[number];

/** What a person decided of a run: why one that had ended goes on, or why one ended before its time. */
export interface Reopening {
  /**
   * `release`: a held pack goes out as it is. `retry`: what surely did not arrive is tried again. `resend`: one delivery
   * is sent again. `settle`: the last open delivery was declared sent. `cancel`: the run was told to stop.
   */
  readonly what: 'release' | 'retry' | 'resend' | 'settle' | 'cancel';
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
  readonly trigger: RunTrigger;
  /** Who asked: the name of a token or of a shell's user. Absent where nobody did, and in older records. */
  readonly by?: string;
  readonly priority: Priority;
  readonly period: Period;
  /** The definition's digest: the version this run uses. */
  readonly digest: string;
  /** False: the files are made and archived, nothing is sent. */
  readonly deliver: boolean;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Ms from its first start after which the run is given up, waiting included. Absent in older records: a day. */
  readonly deadlineMs?: number;
  /** Fingerprint of the request that opened a `trigger:` slot: the same trigger id with another request is refused. */
  readonly asked?: string;
  /** W3C `traceparent` of the span that opened it, where traces are kept: all its tries stand in that trace. */
  readonly traceparent?: string;
}

export interface RunRecord extends RunOrder {
  readonly state: RunState;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  /** Epoch ms until which the run sleeps, while `waiting`. */
  readonly until: number | null;
  /** Times a worker took the run up: tries, and wakings from a sleep. */
  readonly starts: number;
  /** Tries that were spent, the one under way included; a sleep spends none. */
  readonly attempts: number;
  readonly losses: Losses;
  readonly calls: { readonly planned: number; readonly made: number; readonly saved: number };
  /** Ms spent in each stage so far, over all tries; sleeping is none of it. Stages that were not reached are absent. */
  readonly timings: Readonly<Partial<Record<Stage, number>>>;
  /** Ms in which the run waited for tokens of its API key, in place or asleep. */
  readonly tokenWaitMs: number;
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
  /** Who has told the run to stop, which it does before its next step; null unless somebody has. */
  readonly cancel: Cancellation | null;
}

/**
 * Whether the run is made by the command that opened it (`docket run`), and by no worker. One that somebody has had
 * retried, released or sent again since is the workers'.
 */
export const isInline = ({ trigger, reopened }: Pick<RunRecord, 'trigger' | 'reopened'>): boolean =>
  trigger === 'cli' && reopened.every(({ what }) => what === 'cancel');

/** Workers that went away with the run in hand, as of its newest start. */
export interface Losses {
  readonly all: number;
  /** Those in a row since which it has got no further: what takes its worker down stops at the same place each time. */
  readonly stuck: number;
  /** How far it had got: grows with each call, delivery and ms of waiting for a token, and with nothing else. */
  readonly far: number;
}

export interface Cancellation {
  readonly by: string;
  readonly reason: string;
  /** Epoch ms. */
  readonly at: number;
}

/** Where a listing goes on: after this run, newest first. Runs of the same instant are in the order of their ids. */
export interface RunPosition {
  readonly createdAt: number;
  readonly id: string;
}

export interface RunFilter {
  /** Only of this organization; of all when absent. */
  readonly org?: string;
  readonly report?: string;
  /** Only in one of these states. */
  readonly states?: readonly RunState[];
  /** Created at this instant (epoch ms) or later. */
  readonly since?: number;
  /** Created before this instant. */
  readonly until?: number;
  readonly after?: RunPosition;
  readonly limit: number;
}

/** The record of runs. Opening a slot is one atomic step: whoever comes second is told so and finds the first. */
export interface RunStore {
  open(order: RunOrder): Promise<{ readonly opened: boolean; readonly record: RunRecord }>;
  get(id: string): Promise<RunRecord | undefined>;
  update(id: string, change: Partial<Omit<RunRecord, keyof RunOrder>>): Promise<void>;
  /** Newest first. Fewer than `limit` only when there are no more. */
  list(filter: RunFilter): Promise<RunRecord[]>;
}
