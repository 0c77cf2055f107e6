import type { ReviewActor } from './review-event.ts';

/** A comment as it is printed: the last version, by its last author. */
export interface ReviewComment {
  /** Null: on the whole report. */
  readonly section: string | null;
  /** As typed: markup and references to figures are not resolved. */
  readonly text: string;
  readonly by: ReviewActor;
  /** Epoch ms. */
  readonly at: number;
  /** From 1. */
  readonly version: number;
}

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
  /** Approvals of exactly `content`, one a person, by people who may approve, in order. */
  readonly approvals: readonly { readonly by: ReviewActor; readonly at: number; readonly reason: string }[];
  readonly need: number;
  /** Persons who may not approve because of `four_eyes`: who triggered the run, or wrote a printed text. */
  readonly excluded: readonly string[];
  /** Since when the phase lasts, epoch ms; null in phase `figures`. */
  readonly since: number | null;
}
