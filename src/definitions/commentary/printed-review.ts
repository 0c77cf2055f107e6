import type { CommentBlock } from './comment-text.ts';

/** A comment as it is printed. */
export interface Comment {
  /** Id of the section; null: on the whole report. */
  readonly section: string | null;
  readonly blocks: readonly CommentBlock[];
  /** The name of its author. */
  readonly author: string;
  /** ISO, UTC. */
  readonly at: string;
}

/** Who approved a report, as it is printed. */
export interface Approval {
  /** In the order in which they approved. */
  readonly by: readonly {
    readonly name: string;
    /** The approver whose deputy they are. */
    readonly for?: string;
    /** ISO, UTC. */
    readonly at: string;
  }[];
  /** SHA-256 (hex) of the approved content. */
  readonly content: string;
}
