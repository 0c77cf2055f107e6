import { createHash } from 'node:crypto';

/**
 * The ledger decides what was sent. One row per run, target and recipient:
 *
 *     pending ─begin─▶ sending ─settle─▶ sent | refused | unknown
 *        ▲                └──settle(pending): a definite failure before the message was consumed
 *
 * A restart that finds `sending` makes it `unknown`: the message may have been accepted. `unknown` is never sent again
 * automatically; somebody decides.
 */
export type DeliveryState = 'pending' | 'sending' | 'sent' | 'refused' | 'unknown';

export interface DeliveryRow {
  /** `deliveryId(run, target, recipient)`: the same delivery has the same id, whoever computes it. */
  readonly id: string;
  readonly run: string;
  readonly org: string;
  readonly report: string;
  /** Position and kind in the definition, e.g. `0-email`. */
  readonly target: string;
  /** An address, or a directory. */
  readonly recipient: string;
  readonly state: DeliveryState;
  /** Grows with each `begin`; a writer that holds an older one is refused. */
  readonly epoch: number;
  /** What the server said, or why it is unknown. */
  readonly detail: string | null;
  /** Epoch ms of the last change. */
  readonly at: number;
}

export type NewDelivery = Pick<DeliveryRow, 'id' | 'run' | 'org' | 'report' | 'target' | 'recipient'>;

/** Compare-and-set over delivery rows. Every method is one atomic step; a promise that resolved is durable as far as the store is. */
export interface Ledger {
  /** Creates the row as `pending`, or returns the one that is there, whatever its state. */
  open(delivery: NewDelivery, at: number): Promise<DeliveryRow>;
  /** `pending` → `sending` with a new epoch; undefined when the row is in any other state. */
  begin(id: string, at: number): Promise<number | undefined>;
  /**
   * `sending` with this epoch → `to`. A writer whose `sending` was declared `unknown` meanwhile may still
   * bring the truth (`sent`, `refused`) with its own epoch. Saying the same again is true again, so that a
   * write whose answer was lost may be repeated. False when refused: another epoch holds the row, or it is settled.
   */
  settle(
    id: string,
    epoch: number,
    to: Exclude<DeliveryState, 'sending'>,
    detail: string | null,
    at: number,
  ): Promise<boolean>;
  /** All rows of a run, in the order they were opened. */
  list(run: string): Promise<DeliveryRow[]>;
}

const HALF = 16;

/**
 * The id of a delivery: the run's first 16 digits, then 16 hex digits of SHA-256 over run, target and recipient. It
 * begins with the run's so that all rows of a run can be kept together: on a Redis cluster, on one node.
 */
export function deliveryId(run: string, target: string, recipient: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([run, target, recipient]))
    .digest('hex');
  return `${run.slice(0, HALF)}${hash.slice(0, HALF)}`;
}

/** What the rows of a run share: the part of their ids that is the run's. */
export const placeOfRun = (run: string): string => run.slice(0, HALF);
export const placeOfDelivery = (id: string): string => id.slice(0, -HALF);
