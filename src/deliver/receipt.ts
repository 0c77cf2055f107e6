import { z } from 'zod';
import { DELIVERY_STATES, type DeliveryState } from './ledger.ts';

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

/** `receipts.json` as it is read back; loose, because a newer version may have written more. */
export const receiptsSchema: z.ZodType<readonly Receipt[]> = z.array(
  z.looseObject({
    delivery: z.string(),
    target: z.string(),
    recipient: z.string(),
    state: z.enum([...DELIVERY_STATES, 'skipped']),
    detail: z.string().nullable(),
    messageId: z.string().nullable(),
  }),
);
