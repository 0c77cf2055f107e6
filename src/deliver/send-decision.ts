import { addressKey } from '../definitions/allow-lists/recipients.ts';

/** Whether a delivery with `send_if` is sent, decided once when the run's files are made. */
export interface SendDecision {
  /** Position and kind in the definition, e.g. `0-email`. */
  readonly target: string;
  /** For e-mail: the mailbox as `recipientKey`; null for targets with one recipient. */
  readonly recipient: string | null;
  readonly send_if: string;
  readonly send: boolean;
  /** One sentence. */
  readonly reason: string;
}

/** The same key for every spelling of one mailbox. */
export const recipientKey = (recipient: string): string => addressKey(recipient) ?? recipient;

/** The decision on a delivery; undefined where it has no condition. */
export const sendDecisionFor = (
  { conditions = [] }: { readonly conditions?: readonly SendDecision[] | undefined },
  delivery: { readonly target: string; readonly recipient: string },
): SendDecision | undefined =>
  conditions.find(
    ({ target, recipient }) =>
      target === delivery.target && (recipient === null || recipient === recipientKey(delivery.recipient)),
  );
