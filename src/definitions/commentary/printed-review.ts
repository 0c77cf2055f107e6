import type { CommentBlock } from './comment-text.ts';

/** A comment as it is printed. */
export interface Comment {
  /** Id of the section; null: the comment is on the whole report. */
  readonly section: string | null;
  readonly blocks: readonly CommentBlock[];
  /** The author's name. */
  readonly author: string;
  /** ISO, UTC. */
  readonly at: string;
}

/** An approval of a report, as it is printed. */
export interface Approval {
  /** In the order in which they approved. */
  readonly by: readonly {
    readonly name: string;
    /** The approver for whom this deputy acted. */
    readonly for?: string;
    /** ISO, UTC. */
    readonly at: string;
  }[];
  /** SHA-256 (hex) of the approved content. */
  readonly content: string;
}
