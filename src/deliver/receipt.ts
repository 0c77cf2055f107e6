import type { DeliveryState } from './ledger.ts';

/** What became of one delivery. */
export interface Receipt {
  /** The ledger row's id. */
  readonly delivery: string;
  readonly target: string;
  readonly recipient: string;
  readonly state: DeliveryState;
  readonly detail: string | null;
  readonly messageId: string | null;
}
