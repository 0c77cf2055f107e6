import type { RunState } from '../../run/run-record.ts';

/** A candidate for the typed word. The values `:files` and `:folders` ask the shell for its own completion. */
export interface Completion {
  readonly value: string;
  readonly description: string;
}

/** What ids a word may be. */
export type WantedIds =
  | { readonly of: 'runs' /** Absent: in any state. */; readonly states?: readonly RunState[] }
  | { readonly of: 'deliveries' };
