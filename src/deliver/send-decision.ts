import { addressKey } from '../definitions/allow-lists/recipients.ts';

/** Whether a delivery with `send_if` is sent. Decided once, when the run's files are made. */
export interface SendDecision {
  /** Position and kind in the definition, e.g. `0-email`. */
  readonly target: string;
  /** For e-mail: the mailbox as `recipientKey`. Null for targets with only one recipient. */
  readonly recipient: string | null;
  readonly send_if: string;
  readonly send: boolean;
  /** One sentence. */
  readonly reason: string;
}

/**
 * Used instead of a condition for the decisions on a corrected edition. `unmarked`: the recipient gets the file set
 * without the mark, whatever the decision on the marked set says.
 */
export const CORRECTION_CONDITIONS = { marked: 'correction', unmarked: 'correction, unmarked' } as const;

/** Makes the same key from every spelling of a mailbox. */
export const recipientKey = (recipient: string): string => addressKey(recipient) ?? recipient;

interface Decided {
  readonly conditions?: readonly SendDecision[] | undefined;
  readonly corrects?: { readonly run: string } | undefined;
}

/**
 * The decision on a delivery; undefined if it has no condition. A corrected edition has a decision on each of its
 * deliveries, and skips a delivery without one.
 */
export function sendDecisionFor(
  { conditions = [], corrects }: Decided,
  delivery: { readonly target: string; readonly recipient: string },
): SendDecision | undefined {
  const decision = conditions.find(
    ({ target, recipient }) =>
      target === delivery.target && (recipient === null || recipient === recipientKey(delivery.recipient)),
  );
  if (decision !== undefined || corrects === undefined) return decision;
  const reason = `It is not known to have received run ${corrects.run}, which this edition corrects.`;
  return {
    target: delivery.target,
    recipient: delivery.recipient,
    send_if: CORRECTION_CONDITIONS.marked,
    send: false,
    reason,
  };
}
