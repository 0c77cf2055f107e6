import { DocketError, type ErrorJson } from '../base/error.ts';
import type { Period } from '../definitions/periods/period.ts';
import { STATUSES, type Status } from '../fetch/dataset.ts';
import type { Priority } from '../fetch/rate-limit/budget.ts';
import type { ReviewPhase } from './review/review-state.ts';

export { STATUSES, type Status };

/** The number of present figures by status. Those of few cases are counted apart. */
export type StatusCounts = Readonly<Partial<Record<Status, number>>>;

export const RUN_STATES = [
  'queued',
  'running',
  'waiting',
  'done',
  'partly_delivered',
  'held',
  'awaiting_approval',
  'cancelled',
  'failed',
  'skipped',
] as const;
export type RunState = (typeof RUN_STATES)[number];

/** Terminal states. `skipped`: the slot was never opened; `error` has the reason. */
export const TERMINAL_STATES: ReadonlySet<RunState> = new Set([
  'done',
  'partly_delivered',
  'held',
  'awaiting_approval',
  'cancelled',
  'failed',
  'skipped',
]);

/** Terminal states in which a run waits for the decision of a person. */
export const WAITING_STATES: ReadonlySet<RunState> = new Set<RunState>(['held', 'awaiting_approval']);

export const TRIGGERS = ['schedule', 'on_demand', 'cli', 'backfill'] as const;
export type RunTrigger = (typeof TRIGGERS)[number];

export const STAGES = ['plan', 'fetch', 'render', 'seal', 'deliver'] as const;
/** Stages of a run, in order. Waiting for a token is part of the stage that waits. */
export type Stage = (typeof STAGES)[number];

/** Who decided, and why: stored with the decision. */
export interface DecisionAuthor {
  readonly by: string;
  readonly reason: string;
}

/** What a person decided about a run: why an ended run continues, or why a run was stopped. */
export interface RunDecision extends DecisionAuthor {
  /**
   * `release`: a held run is delivered as it is. `retry`: deliveries known to have failed are retried, or a run that waits
   * continues at once. `resend`: one
   * delivery is sent again. `settle`: the last open delivery was marked as sent. `cancel`: the run was cancelled. `review`:
   * its review has a new event (a comment, an approval, a rejection).
   */
  readonly what: 'release' | 'retry' | 'resend' | 'settle' | 'cancel' | 'review';
  /** Epoch ms. */
  readonly at: number;
}

/** The request for a run, frozen when it was triggered; a retry uses nothing newer. */
export interface RunOrder {
  /** 32 hex digits of SHA-256 over `(org, report, slot)`, deterministic for a slot. */
  readonly id: string;
  readonly org: string;
  readonly report: string;
  /** The scheduled instant (ISO, UTC), or `trigger:<id>`. */
  readonly slot: string;
  readonly trigger: RunTrigger;
  /** The requesting actor: the name of a token or of the shell's user. Absent for scheduled runs and in older records. */
  readonly by?: string;
  /** `Principal.subject` of who triggered it. Absent for the shell, whose users do not sign in, and in older records. */
  readonly bySubject?: string;
  readonly priority: Priority;
  readonly period: Period;
  /** Of the sections with a period of their own, by section id. Absent without any, and in older records. */
  readonly sectionPeriods?: Readonly<Record<string, Period>>;
  /** The definition's digest: the version this run uses. */
  readonly digest: string;
  /** False: the files are rendered and archived, nothing is sent. */
  readonly deliver: boolean;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Ms from its first start after which the run fails, waiting included. Absent in older records: a day. */
  readonly deadlineMs?: number;
  /** Ms after the slot within which readers expect the report. Absent without `late_after`, and in older records. */
  readonly lateAfterMs?: number;
  /** Fingerprint of the request that opened a `trigger:` slot: the same trigger id with another request is an error. */
  readonly asked?: string;
  /** Of a report with `split`: only the pack of this value is made and delivered. Absent: all are. */
  readonly value?: string;
  /** true: it may deliver a period that another run has delivered. Absent otherwise, and in older records. */
  readonly again?: true;
  /** The run that delivered the period before, with `again`: this one is marked as a repeated copy. `at`: epoch ms of its delivery. */
  readonly repeats?: { readonly run: string; readonly at: number };
  /** The run whose edition this one replaces, for a corrected edition: it goes to those who received that one. */
  readonly corrects?: string;
  /** W3C `traceparent` of the span that opened it, if traces are recorded: all attempts belong to that trace. */
  readonly traceparent?: string;
}

export interface RunRecord extends RunOrder {
  readonly state: RunState;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  /** Epoch ms until which the run is snoozed, while `waiting`. */
  readonly until: number | null;
  /**
   * What the run waits for until `until`; valid while both are the same. Absent in older records, null where `error` says
   * it.
   */
  readonly waitingFor?: { readonly until: number; readonly why: string } | null;
  /** Times a worker started the run: attempts, and wake-ups from a snooze. */
  readonly starts: number;
  /** Attempts used, including the active one; a snooze uses none. */
  readonly attempts: number;
  readonly losses: WorkerCrashes;
  readonly calls: { readonly planned: number; readonly made: number; readonly saved: number };
  /** Calls that were made before the slot: their number, and when the first was answered, epoch ms. Absent without any. */
  readonly prepared?: { readonly calls: number; readonly from: number };
  /** Pages of its lists that were read. Absent without any, and in older records. */
  readonly pages?: number;
  /** Ms spent in each stage over all attempts, without snoozes. Stages not reached are absent. */
  readonly timings: Readonly<Partial<Record<Stage, number>>>;
  /** Epoch ms of the last end of each stage. Absent in older records. */
  readonly stageEnds?: Readonly<Partial<Record<Stage, number>>>;
  /** Ms in which the run waited for tokens of its API key, snoozes included. */
  readonly tokenWaitMs: number;
  readonly files: readonly { readonly name: string; readonly bytes: number; readonly sha256: string }[];
  /** Absent before it ended, without targets, and in older records. */
  readonly statuses?: StatusCounts;
  readonly fewStatuses?: StatusCounts;
  readonly deliveries: readonly {
    readonly target: string;
    readonly recipient: string;
    readonly state: string;
    readonly detail: string | null;
  }[];
  readonly error: ErrorJson | null;
  /** The review as the last attempt found it. Absent without one, and in older records. */
  readonly review?: ReviewProgress;
  /** In chronological order. */
  readonly reopened: readonly RunDecision[];
  /** The requested cancellation, which takes effect before the next step; null without one. */
  readonly cancel: Cancellation | null;
}

/** What a run waited for at the end of an attempt. The events in the archive are the truth. */
export interface ReviewProgress {
  /** Number of the last event that the attempt knew. */
  readonly seq: number;
  readonly phase: ReviewPhase;
  /** SHA-256 (hex) of what people look at. */
  readonly content: string | null;
}

/**
 * Whether the command that opened the run (`docket run`) executes it, instead of a worker. A run that was retried,
 * released or resent since belongs to the workers.
 */
export const isInlineRun = ({ trigger, reopened }: Pick<RunRecord, 'trigger' | 'reopened'>): boolean =>
  trigger === 'cli' && reopened.every(({ what }) => what === 'cancel');

/** Worker crashes while the run was active, as of its newest start. */
export interface WorkerCrashes {
  readonly all: number;
  /** Consecutive crashes without progress: a run that crashes its worker does so at the same point each time. */
  readonly stuck: number;
  /** Measure of progress: grows only with each call, each delivery and each ms of waiting for a token. */
  readonly far: number;
}

export interface Cancellation {
  readonly by: string;
  readonly reason: string;
  /** Epoch ms. */
  readonly at: number;
}

/** Position in a listing: after this run, newest first. Runs of the same instant are ordered by id. */
export interface RunCursor {
  readonly createdAt: number;
  readonly id: string;
}

/** Civil days, YYYY-MM-DD, both included. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

export interface RunFilter {
  /** Only of this organization; of all when absent. */
  readonly org?: string | undefined;
  readonly report?: string | undefined;
  /** Only of these reports, `org/report`. */
  readonly reports?: readonly string[] | undefined;
  /** Only with a delivery to one of these recipients: `org/recipient` as the index of recipients has them. */
  readonly recipients?: readonly string[] | undefined;
  /** Only with an error whose code contains this text. */
  readonly error?: string | undefined;
  /** Only with a period that begins on one of these days. */
  readonly begins?: DayRange | undefined;
  /** Only in one of these states. */
  readonly states?: readonly RunState[] | undefined;
  /** Created at this instant (epoch ms) or later. */
  readonly since?: number | undefined;
  /** Created before this instant. */
  readonly until?: number | undefined;
  readonly after?: RunCursor | undefined;
  readonly limit: number;
}

/** Stores runs. Opening a slot is atomic: a second open returns the existing record. */
export interface RunStore {
  open(order: RunOrder): Promise<{ readonly opened: boolean; readonly record: RunRecord }>;
  get(id: string): Promise<RunRecord | undefined>;
  update(id: string, change: Partial<Omit<RunRecord, keyof RunOrder>>): Promise<void>;
  /** Newest first. Fewer than `limit` only when there are no more. */
  list(filter: RunFilter): Promise<RunRecord[]>;
}

export const runNotFoundError = (id: string): DocketError =>
  new DocketError('run.not_found', `There is no record of run ${id}.`, { next: '`docket runs` lists the known runs.' });

/**
 * A run as it is shown: its state, or what the state alone does not say. `cancelling`: a cancellation is requested and not
 * yet carried out. `delivery_unknown`: `partly_delivered`, and no recipient is known to have received it. Never stored.
 */
export type RunStatus = RunState | 'cancelling' | 'delivery_unknown';

/** @param deliveries of the ledger where they are known; by default those of the record. Without notices to the owner */
export function runStatus(
  { state, cancel, deliveries: recorded }: Pick<RunRecord, 'state' | 'cancel' | 'deliveries'>,
  deliveries: readonly { readonly state: string }[] = recorded,
): RunStatus {
  if (!TERMINAL_STATES.has(state)) return cancel === null ? state : 'cancelling';
  if (state !== 'partly_delivered' || deliveries.length === 0) return state;
  return deliveries.some((delivery) => delivery.state === 'sent') ? state : 'delivery_unknown';
}
