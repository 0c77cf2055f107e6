import type { CommentBlock } from '../../../definitions/commentary/comment-text.ts';

/** A person's comment, as every format shows it. */
export interface PackComment {
  /** Id of its section; null: the comment is on the whole report. */
  readonly section: string | null;
  /** Author and day: `Comment by Ada Lovelace, 3 November 2026`. */
  readonly heading: string;
  /** A single line. */
  readonly author: string;
  /** ISO, UTC. */
  readonly at: string;
  readonly blocks: readonly CommentBlock[];
}

/** What a corrected edition replaces and changes, or what a repeated copy repeats. */
export interface PackCorrection {
  /** E.g. `Corrected, replaces the edition of 3 November 2026`. */
  readonly text: string;
  /** The reason that a person gave, on one line; it may name figures. Empty if Docket found the changes. */
  readonly reason: string;
  /** The id of the run that it replaces or repeats, and a label for it. */
  readonly run: string;
  readonly runLabel: string;
  /** How many figures changed; empty if no change is known. */
  readonly heading: string;
  /** The number of all changed figures, including those that are not listed. */
  readonly total: number;
  /** One sentence for each of the first figures. */
  readonly changes: readonly string[];
  /** How many changes are not listed; empty if all are. */
  readonly more: string;
}
