import type { Clock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import { canonicalAddress } from '../../definitions/allow-lists/recipients.ts';
import type { Archive, PublishedManifest } from '../archive/archive.ts';
import type { AttemptRecord } from '../archive/attempt-log.ts';
import { attempt, reconcileRow, type SendFn } from '../attempt.ts';
import type { CircuitBreaker } from '../circuit/circuit-breaker.ts';
import { denialText } from '../denials/deny-list.ts';
import type { Denials } from '../denials/shared-denials.ts';
import { NotConfirmedError } from '../internal/fence.ts';
import {
  type ArchivedState,
  type Ledger,
  MAX_ATTEMPT_MS,
  type NewDelivery,
  NOTICE_TARGET,
  noticeId,
  type Receipt,
} from '../ledger/ledger.ts';
import type { DeliveredEvent } from '../send-pending.ts';
import { buildEmail, buildMessageId } from '../targets/email/email-message.ts';
import { emailSender } from '../targets/email/email-target.ts';
import type { MailRoute } from '../targets/target.ts';
import { noticeHtml } from './notice-html.ts';
import { buildNotice, type Notice, type NoticeContent, noticeKind, noticeText } from './notice-text.ts';

/** Delays before retries of a deferred notice. No later call retries it. */
const RETRY_DELAYS_MS = [2_000, 8_000, 20_000] as const;

export interface NoticePorts {
  /** Undefined if no mail server is configured: the notice is then refused. */
  readonly mail: MailRoute | undefined;
  readonly ledger: Ledger;
  readonly denials: Pick<Denials, 'list'>;
  /** Shared with other workers; absent without Redis. */
  readonly circuit?: CircuitBreaker | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly observe: (event: DeliveredEvent) => void;
}

/** What an archive knows and records about a notice. */
export interface NoticeArchive {
  /** The notice's archived state, in case the ledger was lost. */
  readonly state: ArchivedState | undefined;
  readonly recordAttempt: (attempt: AttemptRecord) => Promise<void>;
  /** Reads and stores the bytes of the last attempt. Absent: messages are not archived. */
  readonly message?: {
    readonly get: () => Promise<Uint8Array | undefined>;
    /** @returns the SHA-256 (hex) of the bytes */
    readonly put: (raw: Uint8Array) => Promise<string>;
  };
}

/**
 * Sends a notice to one person. A notice is a delivery with its own ledger row (target `notice`), so repeated calls
 * send it once. Retries a deferred notice a few times, until the signal aborts.
 *
 * The recipient need not be in the organization's allow-list: a notice contains no figures or files. A denied recipient
 * gets no notice: the row becomes `skipped`. Throws `switch.unreadable` if the deny list cannot be read.
 *
 * @param date epoch ms; the same for every attempt
 */
export async function sendNotice(
  row: NewDelivery,
  build: () => Notice,
  date: number,
  { mail, ledger, denials, circuit, clock, signal, observe }: NoticePorts,
  archive?: NoticeArchive,
): Promise<Receipt> {
  const { id, recipient } = row;
  const found = await ledger.open(row, clock.now(), archive?.state);
  // A recent `sending` may belong to another process that is sending the notice.
  if (found.state !== 'sending' || clock.now() - found.at >= MAX_ATTEMPT_MS) await reconcileRow(ledger, found, clock);
  const recording = archive === undefined ? {} : { recordAttempt: archive.recordAttempt };
  const service = mail?.service ?? 'mail';
  for (const delayMs of [0, ...RETRY_DELAYS_MS]) {
    const { state, epoch, decisions } = await ledger.open(row, clock.now());
    if (state !== 'pending' || !(await waitUnlessAborted(delayMs, clock, signal))) break;
    const denial = (await denials.list()).find(recipient);
    if (denial !== undefined) {
      const detail = denialText(denial);
      await ledger.resolve(id, epoch, { to: 'skipped', by: denial.by, reason: detail, at: clock.now() });
      observe({ type: 'delivered', target: NOTICE_TARGET, recipient, state: 'skipped', detail });
      break;
    }
    if ((await circuit?.check(service)) !== undefined) break;
    const isResend = decisions.length > 0;
    const result = await attempt(row, () => prepareNotice(row, build(), date, mail, archive, isResend), {
      ledger,
      clock,
      signal,
      confirmOpen: async () => {
        if ((await denials.list()).find(recipient) !== undefined)
          throw new NotConfirmedError('The recipient is denied.');
      },
      ...recording,
    });
    if (result === undefined) break;
    if (result.targetDown) await circuit?.recordFailure(service, result.detail);
    else if (result.state === 'sent') await circuit?.recordSuccess(service);
    observe({ type: 'delivered', target: NOTICE_TARGET, recipient, state: result.state, detail: result.detail });
  }
  const { state, detail } = await ledger.open(row, clock.now());
  const messageId =
    mail === undefined || state === 'pending' || state === 'skipped' ? null : buildMessageId(id, mail.from);
  return Object.freeze({ delivery: id, target: NOTICE_TARGET, recipient, state, detail, messageId });
}

/** Waits. Returns false if the signal aborted the wait: the notice then stays `pending`. */
async function waitUnlessAborted(ms: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
  if (ms > 0) await clock.sleep(ms, signal).catch(() => {});
  return !signal.aborted;
}

/** @param isResend a person decided to send it again: the archived bytes are sent, if there are any */
async function prepareNotice(
  row: NewDelivery,
  notice: Notice,
  date: number,
  mail: MailRoute | undefined,
  archive: NoticeArchive | undefined,
  isResend: boolean,
): Promise<SendFn> {
  if (mail === undefined) {
    throw new DocketError('deliver.target_refused', 'The notice cannot be sent: no mail server is configured.', {
      next: 'Set SMTP_URL and MAIL_FROM, or smtp in org.yaml.',
    });
  }
  const message = await buildEmail({
    delivery: row.id,
    run: row.run,
    from: mail.from,
    fromName: mail.fromName,
    list: row,
    to: row.recipient,
    subject: notice.subject,
    text: noticeText(notice),
    html: noticeHtml(notice),
    attachments: [],
    date: new Date(date),
    dkim: mail.dkim,
  });
  if (archive?.message === undefined) return emailSender(mail.mailer, message);
  const raw = (isResend ? await archive.message.get() : undefined) ?? message.raw;
  return emailSender(mail.mailer, { ...message, raw }, await archive.message.put(raw));
}

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
