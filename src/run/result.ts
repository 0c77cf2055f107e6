import type { Receipt } from '../deliver/receipt.ts';
import type { CallRecord, Note } from '../fetch/dataset.ts';
import type { Artifact } from '../render/artifact.ts';

/** What a finished run has to show. */
export interface RunResult {
  /** `held`: made and archived, not sent, because figures are missing. `partly_delivered`: somebody did not get it, or it is not known. */
  readonly state: 'done' | 'partly_delivered' | 'held';
  /** Absolute path of the run's archive folder. */
  readonly folder: string;
  readonly files: readonly Artifact[];
  readonly calls: readonly CallRecord[];
  readonly incomplete: readonly (Note & { readonly section: string })[];
  readonly receipts: readonly Receipt[];
}
