import { z } from 'zod';
import { sha256 } from '../../base/sha256.ts';
import { asciiLowerCase } from '../../base/text/fold.ts';
import { epochMsSchema, MINUTE_MS } from '../../base/time.ts';

/**
 * The ledger decides what is sent. One row per run, target and recipient:
 *
 *     pending ─begin─▶ sending ─settle─▶ sent | refused | unknown
 *        ▲                └──settle(pending): a definite failure before the message was consumed
 *        └──resolve(pending): a decision to send a refused or unknown delivery again
 *     pending | refused ─add─▶ replaced: a person corrected its address; the new row is added in the same step
 *     pending | refused ─withdraw─▶ withdrawn: a corrected edition goes out instead; `sending` follows with its result
 *     pending ─resolve(skipped)─▶ skipped: the recipient is on the deny list; resolve(pending) sends it after all
 *
 * A restart that finds `sending` sets `unknown`: the message may have been accepted. `unknown` is never sent again
 * automatically, unless the organization has `on_unknown: resend`; it waits for a person's decision.
 */
export const DELIVERY_STATES = [
  'pending',
  'sending',
  'sent',
  'refused',
  'unknown',
  'replaced',
  'withdrawn',
  'skipped',
] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];
/** The states in which an attempt leaves a row. */
export type AttemptState = Exclude<DeliveryState, 'sending' | ClosedState>;

/** States in which nothing is sent and nobody has to decide. 0.2.0 does not know them, and refuses the run. */
const CLOSED_STATES = ['replaced', 'withdrawn', 'skipped'] as const;
export type ClosedState = (typeof CLOSED_STATES)[number];
export const isClosed = (state: string): boolean => CLOSED_STATES.some((closed) => closed === state);

/** A person's decision, as the ledger and the archive store it. */
export const resolutionSchema = z.object({
  /** `sent`: the delivery has arrived. `pending`: send it, or send it again. */
  to: z.enum(['sent', 'pending', ...CLOSED_STATES]),
  /** A person, a token's name, or `docket` for `on_unknown: resend`. */
  by: z.string(),
  reason: z.string(),
  at: epochMsSchema,
});
/** A person's decision about a delivery. */
export type Resolution = Readonly<z.infer<typeof resolutionSchema>>;

/** The fields of a row that never change. */
export const newDeliverySchema = z.object({
  /** `deliveryId(run, target, recipient)`: every process computes the same id. */
  id: z.string(),
  run: z.string(),
  org: z.string(),
  report: z.string(),
  /** Position and kind in the definition, e.g. `0-email`. */
  target: z.string(),
  /** An address, or where the files go. */
  recipient: z.string(),
  /** Set if a person added the recipient: the definition does not name it for this target. Absent in older rows. */
  added: z.literal(true).exactOptional(),
});
export type NewDelivery = Readonly<z.infer<typeof newDeliverySchema>>;

export interface DeliveryRow extends NewDelivery {
  readonly state: DeliveryState;
  /** Increases with each `begin`. A writer with an older epoch is refused. */
  readonly epoch: number;
  /** The server's reply, or the reason for the state. */
  readonly detail: string | null;
  /** Epoch ms of the last change. */
  readonly at: number;
  /** People's decisions, oldest first. */
  readonly decisions: readonly Resolution[];
}

/** A delivery's state in the archive, which is more durable than the ledger; see `Ledger.open`. */
export interface ArchivedState {
  /** `sending`: the attempt began, but no result is recorded. */
  readonly state: DeliveryState;
  readonly epoch: number;
  readonly detail: string | null;
  /** For a recipient that a person added: only the archive says who it is. */
  readonly added?: Pick<NewDelivery, 'target' | 'recipient'>;
}

/**
 * Delivery rows with compare-and-set. Every method is one atomic step, and is durable once its promise has resolved.
 */
export interface Ledger {
  /**
   * Creates the row as `pending`, or returns the existing one in any state. If the ledger was lost or rolled back, the
   * row takes over an archived state that is newer (`isSupersededBy`).
   */
  open(delivery: NewDelivery, at: number, archived?: ArchivedState): Promise<DeliveryRow>;
  /** `pending` → `sending` with a new epoch; undefined when the row is in any other state. */
  begin(id: string, at: number): Promise<number | undefined>;
  /**
   * Settles a row that is `sending` with this epoch. After such a row was declared `unknown`, its writer may still
   * settle it as `sent` or `refused` with its own epoch. Idempotent, so that a write can be repeated after a lost
   * reply.
   * @returns false when refused: another epoch holds the row, or it is settled
   */
  settle(id: string, epoch: number, to: AttemptState, detail: string | null, at: number): Promise<boolean>;
  /**
   * Carries out a decision about a row with this epoch: `unknown` → `sent`; `unknown`, `refused` and `skipped` →
   * `pending` with a new epoch, so that a running attempt can no longer settle it; `pending` → `skipped`. Idempotent.
   * @returns the new row; undefined when the row is in another state or epoch
   */
  resolve(
    id: string,
    epoch: number,
    decision: Resolution & { readonly to: 'sent' | 'pending' | 'skipped' },
  ): Promise<DeliveryRow | undefined>;
  /**
   * Adds a recipient to a run: opens its row as `pending`, and sets the row that it replaces, `pending` or `refused`,
   * to `replaced` with a new epoch. Either both happen or neither. Idempotent. Changes nothing if the new row exists.
   * @returns the new row, or the existing one; undefined if the replaced row is in another state or epoch
   */
  add(
    delivery: NewDelivery,
    decision: Omit<Resolution, 'to'>,
    replaced?: Pick<DeliveryRow, 'id' | 'epoch'>,
  ): Promise<{ readonly added: boolean; readonly row: DeliveryRow } | undefined>;
  /**
   * A corrected edition replaces the run: its deliveries that are `pending` or `refused` become `withdrawn` with a new
   * epoch, in one step. Afterwards no delivery of the run begins, even if its row is opened or settled later. Notices
   * still begin. Idempotent: the first decision stands.
   * @returns all rows of the run. A row in `sending` becomes `withdrawn` when its result is known, unless it may have
   * arrived
   */
  withdraw(run: string, decision: Omit<Resolution, 'to'>): Promise<DeliveryRow[]>;
  /** Whether `withdraw` was called for the run. */
  isWithdrawn(run: string): Promise<boolean>;
  find(id: string): Promise<DeliveryRow | undefined>;
  /** All rows of a run, in the order they were opened. */
  list(run: string): Promise<DeliveryRow[]>;
  /**
   * Rows in state `unknown`, oldest first, then by id. Returns fewer than `limit` only at the end. Such rows are kept
   * until they are resolved.
   * @param after the last row of the previous page
   */
  listUnknown(limit: number, after?: Pick<DeliveryRow, 'at' | 'id'>): Promise<DeliveryRow[]>;
}

/** Whether a row follows another one in the order of `listUnknown`. */
export const isAfter = (row: Pick<DeliveryRow, 'at' | 'id'>, other: Pick<DeliveryRow, 'at' | 'id'>): boolean =>
  row.at > other.at || (row.at === other.at && row.id > other.id);

/**
 * Whether a row takes over the archived state. `ledger-open-3.lua` has the same rule. A higher epoch comes from a
 * ledger that knew more. Within one epoch, a result replaces `sending` and `unknown`.
 */
export function isSupersededBy(row: Pick<DeliveryRow, 'state' | 'epoch'>, archived: ArchivedState): boolean {
  if (row.state === 'sent' || isClosed(row.state)) return false;
  if (archived.epoch !== row.epoch) return archived.epoch > row.epoch;
  const { state } = archived;
  const isFinal = state === 'sent' || state === 'refused';
  return (row.state === 'sending' && (isFinal || state === 'pending')) || (row.state === 'unknown' && isFinal);
}

/** Detail of a row that is `unknown` because its process died. */
export const INTERRUPTED = 'Docket stopped while this was being sent; it may have been delivered.';

/** Longest duration of an attempt. A row that is `sending` for longer belongs to a dead process. */
export const MAX_ATTEMPT_MS = 10 * MINUTE_MS;

/** Target name of the notices to owners. */
export const NOTICE_TARGET = 'notice';

/** Detail of a row after a decision. For a skip, the reason is already the whole sentence. */
export const resolutionText = ({ to, by, reason }: Pick<Resolution, 'to' | 'by' | 'reason'>): string =>
  to === 'skipped' ? reason : `${RESOLUTION_TEXTS[to]} by ${by}: ${reason}`;
const RESOLUTION_TEXTS = {
  sent: 'Declared sent',
  pending: 'To be sent again, decided',
  replaced: 'Replaced',
  withdrawn: 'Withdrawn',
} as const;
/** Detail of a row that a person added. */
export const additionText = ({ by, reason }: Pick<Resolution, 'by' | 'reason'>): string => `Added by ${by}: ${reason}`;

const ID_HALF_LENGTH = 16;

/**
 * The id of a delivery: the run's first 16 digits, then 16 hex digits of SHA-256 over run, target and recipient. All
 * rows of a run share the first half. It is their hash tag, so that a Redis cluster keeps them on one node.
 */
export function deliveryId(run: string, target: string, recipient: string): string {
  const hash = sha256(JSON.stringify([run, target, recipient]));
  return `${run.slice(0, ID_HALF_LENGTH)}${hash.slice(0, ID_HALF_LENGTH)}`;
}

export const hashTagOfRun = (run: string): string => run.slice(0, ID_HALF_LENGTH);
export const hashTagOfDelivery = (id: string): string => id.slice(0, -ID_HALF_LENGTH);

/** The id of a notice to an owner. After its release a held run gets a second notice, which is a separate delivery. */
export function noticeId(run: string, owner: string, held: boolean): string {
  const mailbox = asciiLowerCase(owner);
  return deliveryId(run, NOTICE_TARGET, held ? `held ${mailbox}` : mailbox);
}

const receiptSchema = z.object({
  /** Id of the ledger row. */
  delivery: z.string(),
  target: z.string(),
  recipient: z.string(),
  /**
   * `skipped`: the recipient is denied, or the delivery's `send_if` was not met; then it has no ledger row. `detail`
   * has the reason.
   */
  state: z.enum(DELIVERY_STATES),
  detail: z.string().nullable(),
  messageId: z.string().nullable(),
});
/** The result of one delivery. */
export type Receipt = Readonly<z.infer<typeof receiptSchema>>;

/** The stored form of `receipts.json`. Loose: a newer version may have written more fields. */
export const receiptsSchema: z.ZodType<readonly Receipt[]> = z.array(receiptSchema.loose());
