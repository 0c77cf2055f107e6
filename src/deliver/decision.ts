import { addressKey } from '../define/recipients.ts';
import type { Manifest } from './archive.ts';

/** Whether a delivery with `send_if` is sent, and why: decided once, when the run's files are made. */
export interface Decision {
  /** Position and kind in the definition, e.g. `0-email`. */
  readonly target: string;
  /** Of e-mail: the mailbox, as `recipientKey` says it; null where the target has one recipient. */
  readonly recipient: string | null;
  readonly send_if: string;
  readonly send: boolean;
  /** One sentence for a person. */
  readonly reason: string;
}

/** What tells one mailbox from another, however it is spelt. */
export const recipientKey = (recipient: string): string => addressKey(recipient) ?? recipient;

/** The decision on a delivery; undefined where it has no condition. */
export const decisionOn = (
  { conditions = [] }: Pick<Manifest, 'conditions'>,
  delivery: { readonly target: string; readonly recipient: string },
): Decision | undefined =>
  conditions.find(
    ({ target, recipient }) =>
      target === delivery.target && (recipient === null || recipient === recipientKey(delivery.recipient)),
  );
