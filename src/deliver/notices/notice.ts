import { canonicalAddress } from '../../definitions/allow-lists/recipients.ts';
import type { Archive, PublishedManifest } from '../archive/archive.ts';
import { type NewDelivery, NOTICE_TARGET, noticeId, type Receipt } from '../ledger/ledger.ts';
import { type NoticePorts, sendNotice } from './notice-sender.ts';
import { buildNotice, type NoticeContent, noticeKind } from './notice-text.ts';

export interface NoticeInput extends NoticeContent, NoticePorts {
  readonly order: NoticeContent['order'] & {
    /** Epoch ms. */
    readonly createdAt: number;
  };
  readonly definition: NoticeContent['definition'] & { readonly owner: string };
  /** Undefined when the run failed before it was published: then the notice is not archived. */
  readonly published: PublishedManifest | undefined;
  readonly archive: Archive;
}

/**
 * Notifies the definition's owner that a run failed, is held, was delivered partially, or has figures that cannot be
 * right. The notice has the reason, the recipients and the next step. Call it when no further attempt of the run
 * follows. Repeated calls send it once.
 *
 * The owner need not be in the organization's allow-list: a notice must arrive even if the recipients are the problem.
 * `owner` is one plain address.
 */
export async function notifyOwner(input: NoticeInput): Promise<Receipt> {
  const { order, definition, published, archive } = input;
  const recipient = canonicalAddress(definition.owner) ?? definition.owner;
  const id = noticeId(order.id, recipient, noticeKind(input) === 'held');
  const { org, report } = order;
  const row: NewDelivery = { id, run: order.id, org, report, target: NOTICE_TARGET, recipient };
  const recorded = published && {
    state: (await archive.getArchivedStates(published)).get(id),
    recordAttempt: (record: Parameters<Archive['putAttempt']>[1]) => archive.putAttempt(published, record),
    message: {
      get: () => archive.getMessage(published, id),
      put: (raw: Uint8Array) => archive.putMessage(published, id, raw),
    },
  };
  return sendNotice(row, () => buildNotice(input), order.createdAt, input, recorded);
}
