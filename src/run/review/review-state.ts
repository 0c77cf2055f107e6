import type { Approver } from '../../definitions/people.ts';
import type { ReviewActor, ReviewEvent } from './review-event.ts';

type Named = Pick<Approver, 'id' | 'name'>;

/** Who approves: for themselves, or as the deputy of the approver `for`. */
export interface Voter extends ReviewActor {
  readonly for?: Named;
}

/** A deputy and an approver, who share the approver's seat. */
export interface Delegation extends Omit<Extract<ReviewEvent, { type: 'delegate' }>, 'type' | 'from' | 'to'> {
  readonly from: Named;
  readonly to: Named;
}

/** A comment as it is printed: the last version, by its last author. */
export interface ReviewComment {
  /** Null: on the whole report. */
  readonly section: string | null;
  /** Of a report with `split`: only in the pack of this value. Absent: for all. */
  readonly value?: string;
  /** As typed: markup and references to figures are not resolved. */
  readonly text: string;
  readonly by: ReviewActor;
  /** Epoch ms. */
  readonly at: number;
  /** From 1. */
  readonly version: number;
}

/** Identifies what a comment is on: of each there is one. */
export const commentKey = ({ section, value }: Pick<ReviewComment, 'section' | 'value'>): string =>
  JSON.stringify(value === undefined ? [section] : [section, value]);

/** What the run waits for. `sealed`, `rejected` and `cancelled` are final. */
export const REVIEW_PHASES = [
  'figures',
  'comments',
  'incomplete',
  'approval',
  'ready',
  'sealed',
  'rejected',
  'cancelled',
] as const;
export type ReviewPhase = (typeof REVIEW_PHASES)[number];

/** The review of a run, computed from its events and frozen inputs alone. */
export interface ReviewState {
  /** Number of the last event; 0 before the first. */
  readonly seq: number;
  readonly phase: ReviewPhase;
  /** SHA-256 (hex) of the stored figures with their frozen inputs; null in phase `figures`. */
  readonly figures: string | null;
  /** SHA-256 (hex) of `figures` and the comments: what an approval names. Null in phase `figures`. */
  readonly content: string | null;
  readonly comments: readonly ReviewComment[];
  /** Ids of the sections that still need a comment. */
  readonly missingComments: readonly string[];
  /** Approvals of exactly `content`, one a seat and a person, by people who may approve, in order. */
  readonly approvals: readonly { readonly by: Voter; readonly at: number; readonly reason: string }[];
  readonly need: number;
  /** Those that count, oldest first, ended ones as well. */
  readonly delegations: readonly Delegation[];
  /** Who wrote a version of a text that is printed, since it was last withdrawn. */
  readonly authors: readonly ReviewActor[];
  /** Since when the phase lasts, epoch ms; null in phase `figures`. */
  readonly since: number | null;
}
