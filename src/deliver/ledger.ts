import { createHash } from 'node:crypto';

/**
 * The ledger decides what was sent. One row per run, target and recipient:
 *
 *     pending ─begin─▶ sending ─settle─▶ sent | refused | unknown
 *        ▲                └──settle(pending): a definite failure before the message was consumed
 *        └──resolve(pending): somebody decided that a refused or unknown one is sent again
 *
 * A restart that finds `sending` makes it `unknown`: the message may have been accepted. `unknown` is never sent again
 * automatically, unless its organization asks for that; somebody decides.
 */
export type DeliveryState = 'pending' | 'sending' | 'sent' | 'refused' | 'unknown';

export const DELIVERY_STATES = [
  'pending',
  'sending',
  'sent',
  'refused',
  'unknown',
] as const satisfies readonly DeliveryState[];

/** What somebody decided about a delivery that nobody could know of, or that was refused. */
export interface Resolution {
  /** `sent`: it has arrived. `pending`: it is sent again. */
  readonly to: 'sent' | 'pending';
  /** Who decided: a person, the name of a token, or `docket` where `on_unknown: resend` did. */
  readonly by: string;
  readonly reason: string;
  /** Epoch ms. */
  readonly at: number;
}

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
  /** In the order they were made. */
  readonly decisions: readonly Resolution[];
}

/** What another, more durable place knows of a delivery; see `Ledger.open`. */
export interface Evidence {
  /** `sending`: it began, and nothing tells how it ended. */
  readonly state: DeliveryState;
  readonly epoch: number;
  readonly detail: string | null;
}

export type NewDelivery = Pick<DeliveryRow, 'id' | 'run' | 'org' | 'report' | 'target' | 'recipient'>;

/** Compare-and-set over delivery rows. Every method is one atomic step; a promise that resolved is durable as far as the store is. */
export interface Ledger {
  /**
   * Creates the row as `pending`, or returns the one that is there, whatever its state. A ledger that was lost or rolled
   * back catches up with the evidence: a new row begins as it says, and one that is there takes it over when the
   * evidence is of a later epoch, or of the same one and says what became of a `sending` or `unknown`.
   */
  open(delivery: NewDelivery, at: number, evidence?: Evidence): Promise<DeliveryRow>;
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
  /**
   * Carries out a decision about the row as it was seen: `unknown` → `sent`, or `unknown` and `refused` → `pending` with
   * a new epoch, so that an attempt which is still on its way can no longer settle it. The row as it is then; undefined
   * when it is in another state or epoch by now. The same decision again is carried out once.
   */
  resolve(id: string, epoch: number, decision: Resolution): Promise<DeliveryRow | undefined>;
  find(id: string): Promise<DeliveryRow | undefined>;
  /** All rows of a run, in the order they were opened. */
  list(run: string): Promise<DeliveryRow[]>;
  /**
   * Rows that are `unknown` and wait for a decision, the longest waiting first, those of one instant by id; fewer than
   * `limit` only when there are no more. They are kept until somebody has decided.
   */
  unknown(limit: number, after?: Pick<DeliveryRow, 'at' | 'id'>): Promise<DeliveryRow[]>;
}

/** The order in which rows wait for a decision. */
export const comesAfter = (row: Pick<DeliveryRow, 'at' | 'id'>, other: Pick<DeliveryRow, 'at' | 'id'>): boolean =>
  row.at > other.at || (row.at === other.at && row.id > other.id);

/**
 * Whether a row takes over what the evidence says. Its rule is `ledger-open-1.lua`'s as well: a higher epoch was given
 * out by a ledger that remembered more; within one epoch, an end is news to a row that does not know its own.
 */
export function yieldsTo(row: Pick<DeliveryRow, 'state' | 'epoch'>, evidence: Evidence): boolean {
  if (row.state === 'sent') return false;
  if (evidence.epoch !== row.epoch) return evidence.epoch > row.epoch;
  const { state } = evidence;
  const end = state === 'sent' || state === 'refused';
  return (row.state === 'sending' && (end || state === 'pending')) || (row.state === 'unknown' && end);
}

/** Why a row is `unknown` whose attempt ended without a word. */
export const INTERRUPTED = 'Docket stopped while this was being sent; it may have been delivered.';

/** No attempt goes on for so long, ms: one that is still `sending` after it has died. */
export const DEAD_MS = 10 * 60_000;

/** What tells an owner how a run ended has this target. */
export const NOTICE_TARGET = 'notice';

/** A decision as the row's detail. */
export const decisionText = ({ to, by, reason }: Pick<Resolution, 'to' | 'by' | 'reason'>): string =>
  `${to === 'sent' ? 'Declared sent' : 'To be sent again, decided'} by ${by}: ${reason}`;

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

/**
 * The id of a notice to an owner. That a pack is held is no end: what comes of it once somebody has released it is told
 * as well, and so is a delivery of its own.
 */
export function noticeId(run: string, owner: string, held: boolean): string {
  const mailbox = owner.toLowerCase();
  return deliveryId(run, NOTICE_TARGET, held ? `held ${mailbox}` : mailbox);
}
