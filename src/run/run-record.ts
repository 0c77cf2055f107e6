import { DocketError, type ErrorJson } from '../base/error.ts';
import type { Period } from '../definitions/periods/period.ts';
import { STATUSES, type Status } from '../fetch/dataset.ts';
import type { Priority } from '../fetch/rate-limit/budget.ts';
import type { Repeats } from './review/review-event.ts';
import type { ReviewPhase } from './review/review-state.ts';

export { STATUSES, type Status };

/** The number of figures in each status. Figures with few cases are counted separately. */
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

/** States that do not change by themselves. `skipped`: the slot was never opened; `error` has the reason. */
export const TERMINAL_STATES: ReadonlySet<RunState> = new Set([
  'done',
  'partly_delivered',
  'held',
  'awaiting_approval',
  'cancelled',
  'failed',
  'skipped',
]);

/** Terminal states in which a run waits for a person's decision. */
export const WAITING_STATES: ReadonlySet<RunState> = new Set<RunState>(['held', 'awaiting_approval']);

export const TRIGGERS = ['schedule', 'on_demand', 'cli', 'backfill'] as const;
export type RunTrigger = (typeof TRIGGERS)[number];

export const STAGES = ['plan', 'fetch', 'render', 'seal', 'deliver'] as const;
/** Stages of a run, in order. Waiting for a token belongs to the stage that waits. */
export type Stage = (typeof STAGES)[number];

/** Who decided and why, as stored with the decision. */
export interface DecisionAuthor {
  readonly by: string;
  readonly reason: string;
}

/** The author of Docket's own decisions. They count for limits, and are not in the audit log. */
export const OWN_NAME = 'docket';

/** The author of a person's decision, which is never taken for one of Docket. */
export const authorName = (name: string, kind: 'shell' | 'token'): string =>
  name.trim() === OWN_NAME ? `${name} (${kind})` : name;

/** A person's decision about a run: why an ended run continues, or why a run was stopped. */
export interface RunDecision extends DecisionAuthor {
  /**
   * `release`: a held run is delivered as it is. `retry`: deliveries that certainly failed are retried, or a waiting
   * run continues at once. `resend`: one delivery is sent again. `settle`: the last open delivery was marked as sent.
   * `cancel`: the run was cancelled. `review`: its review has a new event (a comment, an approval, a rejection).
   */
  readonly what: 'release' | 'retry' | 'resend' | 'settle' | 'cancel' | 'review';
  /** Epoch ms. */
  readonly at: number;
}

/** The request for a run, frozen when it was triggered. Retries use it unchanged. */
export interface RunOrder {
  /** 32 hex digits of SHA-256 over `(org, report, slot)`, so that a slot always has the same id. */
  readonly id: string;
  readonly org: string;
  readonly report: string;
  /** The scheduled instant (ISO, UTC), or `trigger:<id>`. */
  readonly slot: string;
  readonly trigger: RunTrigger;
  /** Who triggered the run: a token's name or a shell user. Absent for scheduled runs, and in older records. */
  readonly by?: string;
  /**
   * `Principal.subject` of the person who triggered the run. Absent for the shell, whose users do not sign in, and in
   * older records.
   */
  readonly bySubject?: string;
  readonly priority: Priority;
  readonly period: Period;
  /** Periods of sections that have their own, by section id. Absent without any, and in older records. */
  readonly sectionPeriods?: Readonly<Record<string, Period>>;
  /** The digest of the definition's version that this run uses. */
  readonly digest: string;
  /** False: the files are rendered and archived, but nothing is sent. */
  readonly deliver: boolean;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Ms after the first start when the run fails, including waits. Absent in older records: a day. */
  readonly deadlineMs?: number;
  /** Ms after the slot within which readers expect the report. Absent without `late_after`, and in older records. */
  readonly lateAfterMs?: number;
  /** Fingerprint of the request that opened a `trigger:` slot. The same trigger id with another request is an error. */
  readonly asked?: string;
  /** In a report with `split`: only this value's pack is made and delivered. Absent: all packs are. */
  readonly value?: string;
  /** Set if the run may deliver a period that another run has delivered. Absent otherwise, and in older records. */
  readonly again?: true;
  /** With `again`: the earlier deliveries of the period. This run is marked as a repeated copy. */
  readonly repeats?: Repeats;
  /** For a corrected edition: the run whose edition it replaces. It goes to the recipients of that edition. */
  readonly corrects?: string;
  /** W3C `traceparent` of the span that opened the run, if traces are recorded. All attempts belong to that trace. */
  readonly traceparent?: string;
}

export interface RunRecord extends RunOrder {
  readonly state: RunState;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  /** While `waiting`: when the snooze ends, epoch ms. */
  readonly until: number | null;
  /**
   * What the run waits for until `until`; valid only while both values of `until` are equal. Absent in older records;
   * null if `error` says it.
   */
  readonly waitingFor?: { readonly until: number; readonly why: string } | null;
  /** How often a worker started the run, for an attempt or after a snooze. */
  readonly starts: number;
  /** Attempts used, including the active one. A snooze uses none. */
  readonly attempts: number;
  readonly losses: WorkerCrashes;
  readonly calls: { readonly planned: number; readonly made: number; readonly saved: number };
  /** Calls made before the slot: how many, and when the first was answered (epoch ms). Absent without any. */
  readonly prepared?: { readonly calls: number; readonly from: number };
  /** How many pages of the run's lists were read. Absent without any, and in older records. */
  readonly pages?: number;
  /** Ms spent in each stage over all attempts, without snoozes. Absent for stages that were not reached. */
  readonly timings: Readonly<Partial<Record<Stage, number>>>;
  /** When each stage last ended, epoch ms. Absent in older records. */
  readonly stageEnds?: Readonly<Partial<Record<Stage, number>>>;
  /** How long the run waited for tokens of its API key, in ms, including snoozes. */
  readonly tokenWaitMs: number;
  readonly files: readonly { readonly name: string; readonly bytes: number; readonly sha256: string }[];
  /** Absent until the run has ended, without targets, and in older records. */
  readonly statuses?: StatusCounts;
  readonly fewStatuses?: StatusCounts;
  readonly deliveries: readonly {
    readonly target: string;
    readonly recipient: string;
    readonly state: string;
    readonly detail: string | null;
  }[];
  readonly error: ErrorJson | null;
  /** The state of the review at the last attempt. Absent without a review, and in older records. */
  readonly review?: ReviewProgress;
  /** In chronological order. */
  readonly reopened: readonly RunDecision[];
  /** The requested cancellation, which takes effect before the next step. Null without one. */
  readonly cancel: Cancellation | null;
}

/** What a run waited for at the end of an attempt. The archived events are the source of truth. */
export interface ReviewProgress {
  /** Number of the last event that the attempt saw. */
  readonly seq: number;
  readonly phase: ReviewPhase;
  /** SHA-256 (hex) of what people look at. */
  readonly content: string | null;
}

/**
 * Whether the command that opened the run (`docket run`) executes it, instead of a worker. Once a run was retried,
 * released or resent, workers execute it.
 */
export const isInlineRun = ({ trigger, reopened }: Pick<RunRecord, 'trigger' | 'reopened'>): boolean =>
  trigger === 'cli' && reopened.every(({ what }) => what === 'cancel');

/** Worker crashes while the run was active, up to its latest start. */
export interface WorkerCrashes {
  readonly all: number;
  /** Consecutive crashes without progress. A run that crashes its worker does so at the same point each time. */
  readonly stuck: number;
  /** Measure of progress. It increases only with each call, each delivery, and each ms of waiting for a token. */
  readonly far: number;
}

export interface Cancellation {
  readonly by: string;
  readonly reason: string;
  /** Epoch ms. */
  readonly at: number;
}

/**
 * A position in a listing, newest first: the page begins after this run. Runs of the same instant are ordered by id.
 */
export interface RunCursor {
  readonly createdAt: number;
  readonly id: string;
}

/** Dates, YYYY-MM-DD, both included. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

export interface RunFilter {
  /** Only runs of this organization. Absent: of all. */
  readonly org?: string | undefined;
  readonly report?: string | undefined;
  /** Only runs of these reports, `org/report`. */
  readonly reports?: readonly string[] | undefined;
  /** Only runs with a delivery to one of these recipients, `org/recipient` as in the index of recipients. */
  readonly recipients?: readonly string[] | undefined;
  /** Only runs with an error whose code contains this text. */
  readonly error?: string | undefined;
  /** Only runs whose period begins on one of these days. */
  readonly begins?: DayRange | undefined;
  /** Only runs in one of these states. */
  readonly states?: readonly RunState[] | undefined;
  /** Only runs created at this instant (epoch ms) or later. */
  readonly since?: number | undefined;
  /** Only runs created before this instant (epoch ms). */
  readonly until?: number | undefined;
  readonly after?: RunCursor | undefined;
  readonly limit: number;
}

/** Stores runs. Opening a slot is atomic: a second call returns the existing record. */
export interface RunStore {
  open(order: RunOrder): Promise<{ readonly opened: boolean; readonly record: RunRecord }>;
  get(id: string): Promise<RunRecord | undefined>;
  update(id: string, change: Partial<Omit<RunRecord, keyof RunOrder>>): Promise<void>;
  /** Newest first. Returns fewer than `limit` only if there are no more. */
  list(filter: RunFilter): Promise<RunRecord[]>;
}

export const runNotFoundError = (id: string): DocketError =>
  new DocketError('run.not_found', `There is no record of run ${id}.`, { next: '`docket runs` lists the known runs.' });

/**
 * A run's state as shown to people, with two additions that are never stored. `cancelling`: a cancellation was
 * requested but not carried out yet. `delivery_unknown`: `partly_delivered`, and no recipient is known to have received
 * the report.
 */
export type RunStatus = RunState | 'cancelling' | 'delivery_unknown';

/**
 * @param deliveries the ledger's deliveries if they are known; by default those in the record. Without notices to the
 * owner
 */
export function runStatus(
  { state, cancel, deliveries: recorded }: Pick<RunRecord, 'state' | 'cancel' | 'deliveries'>,
  deliveries: readonly { readonly state: string }[] = recorded,
): RunStatus {
  if (!TERMINAL_STATES.has(state)) return cancel === null ? state : 'cancelling';
  if (state !== 'partly_delivered' || deliveries.length === 0) return state;
  return deliveries.some((delivery) => delivery.state === 'sent') ? state : 'delivery_unknown';
}
