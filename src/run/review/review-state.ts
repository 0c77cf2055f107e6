import type { Approver } from '../../definitions/people.ts';
import type { ReviewActor, ReviewEvent } from './review-event.ts';

type Named = Pick<Approver, 'id' | 'name'>;

/** A person who approves: for themselves, or as the deputy of the approver `for`. */
export interface Voter extends ReviewActor {
  readonly for?: Named;
}

/** A deputy and an approver. They share the approver's seat. */
export interface Delegation extends Omit<Extract<ReviewEvent, { type: 'delegate' }>, 'type' | 'from' | 'to'> {
  readonly from: Named;
  readonly to: Named;
}

/** A printed comment: its last version, with the author of that version. */
export interface ReviewComment {
  /** Null: the whole report. */
  readonly section: string | null;
  /** In a report with `split`: shown only in the pack of this value. Absent: shown in all packs. */
  readonly value?: string;
  /** As typed, with unresolved markup and references to figures. */
  readonly text: string;
  readonly by: ReviewActor;
  /** Epoch ms. */
  readonly at: number;
  /** Counts from 1. */
  readonly version: number;
}

/** Identifies what a comment is about. There is one comment for each key. */
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

/** The state of a run's review, computed only from its events and frozen inputs. */
export interface ReviewState {
  /** Number of the last event; 0 before the first. */
  readonly seq: number;
  readonly phase: ReviewPhase;
  /** SHA-256 (hex) of the stored figures and their frozen inputs; null in phase `figures`. */
  readonly figures: string | null;
  /** SHA-256 (hex) of `figures` and the comments, which approvals name. Null in phase `figures`. */
  readonly content: string | null;
  readonly comments: readonly ReviewComment[];
  /** Ids of sections that still need a comment. */
  readonly missingComments: readonly string[];
  /** Approvals of exactly this `content`, in order, by people who may approve. At most one for each seat and person. */
  readonly approvals: readonly ({ readonly by: Voter } & Pick<
    Extract<ReviewEvent, { type: 'approve' }>,
    'at' | 'reason' | 'repeats'
  >)[];
  readonly need: number;
  /** The delegations that count, oldest first, including ended ones. */
  readonly delegations: readonly Delegation[];
  /** Who wrote a version of a printed text, since it was last withdrawn. */
  readonly authors: readonly ReviewActor[];
  /** When the phase began, epoch ms; null in phase `figures`. */
  readonly since: number | null;
}
