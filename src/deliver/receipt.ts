import type { DeliveryState } from './ledger.ts';

/** What became of one delivery. */
export interface Receipt {
  /** The ledger row's id. */
  readonly delivery: string;
  readonly target: string;
  readonly recipient: string;
  /** `skipped`: its `send_if` was not met, so it has no ledger row; `detail` says why. */
  readonly state: DeliveryState | 'skipped';
  readonly detail: string | null;
  readonly messageId: string | null;
}
