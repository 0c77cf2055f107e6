import type { CommentBlock } from '../../../definitions/commentary/comment-text.ts';

/** A comment of a person, as every format shows it. */
export interface PackComment {
  /** Id of its section; null: on the whole report. */
  readonly section: string | null;
  /** Who wrote it, and when: `Comment by Ada Lovelace, 3 November 2026`. */
  readonly heading: string;
  /** A single line. */
  readonly author: string;
  /** ISO, UTC. */
  readonly at: string;
  readonly blocks: readonly CommentBlock[];
}

/** What a corrected edition replaces and changes, or a repeated copy repeats. */
export interface PackCorrection {
  /** `Corrected, replaces the edition of 3 November 2026`. */
  readonly text: string;
  /** Why a person sends it, one line, which may name figures; empty where Docket found the changes. */
  readonly reason: string;
  /** The id of the run that it replaces or repeats, and the label of that. */
  readonly run: string;
  readonly runLabel: string;
  /** How many figures changed; empty where none is known to have. */
  readonly heading: string;
  /** All changed figures, those that are not listed included. */
  readonly total: number;
  /** One sentence for each of the first figures. */
  readonly changes: readonly string[];
  /** How many changes are not listed; empty for none. */
  readonly more: string;
}
