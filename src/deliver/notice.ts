import type { Clock } from '../base/clock.ts';
import { DocketError } from '../base/error.ts';
import { canonicalAddress } from '../definitions/allow-lists/recipients.ts';
import type { Archive, PublishedManifest } from './archive/archive.ts';
import type { AttemptRecord } from './archive/attempt-log.ts';
import { attempt, reconcileRow, type SendFn } from './attempt.ts';
import type { CircuitBreaker } from './circuit/circuit-breaker.ts';
import type { DeliveredEvent } from './deliver.ts';
import {
  type Ledger,
  MAX_ATTEMPT_MS,
  type NewDelivery,
  NOTICE_TARGET,
  noticeId,
  type Receipt,
} from './ledger/ledger.ts';
import { noticeHtml } from './notice-html.ts';
import { type NoticeContent, noticeKind, noticeSubject, noticeText } from './notice-text.ts';
import { buildEmail, messageIdOf } from './targets/email/email-message.ts';
import { emailSender } from './targets/email/email-target.ts';
import type { MailRoute } from './targets/target.ts';

/** Delays before retries of a deferred notice: no later call retries it. */
const RETRY_DELAYS_MS = [2_000, 8_000, 20_000] as const;

export interface NoticeInput extends NoticeContent {
  readonly order: NoticeContent['order'] & {
    /** Epoch ms. */
    readonly createdAt: number;
  };
  readonly definition: NoticeContent['definition'] & { readonly owner: string };
  /** Undefined when the run failed before it was published: the notice is then not archived. */
  readonly published: PublishedManifest | undefined;
  readonly mail: MailRoute | undefined;
  readonly ledger: Ledger;
  readonly archive: Archive;
  /** Shared with other workers; absent where there is none. */
  readonly circuit?: CircuitBreaker | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly observe: (event: DeliveredEvent) => void;
}

/**
 * Notifies the definition's owner that a run has failed, is held or was delivered partially, with the reason, the
 * recipients and the next step. Call it when no further attempt of the run follows. The notice is a delivery with its own
 * ledger row (target `notice`), so repeated calls send it once. Retries a deferred notice a few times until the signal.
 *
 * The owner need not be in the organization's allow-list: a notice has no figures and no files, and must arrive when the
 * recipients are the problem. It has one plain address.
 */
export async function notifyOwner(input: NoticeInput): Promise<Receipt> {
  const { order, definition, mail, ledger, clock, signal, observe } = input;
  const recipient = canonicalAddress(definition.owner) ?? definition.owner;
  const id = noticeId(order.id, recipient, noticeKind(input.error) === 'held');
  const { org, report } = order;
  const row: NewDelivery = { id, run: order.id, org, report, target: NOTICE_TARGET, recipient };
  const { published, archive, circuit } = input;
  const archived = published === undefined ? undefined : (await archive.getArchivedStates(published)).get(id);
  const found = await ledger.open(row, clock.now(), archived);
  // A recent `sending` may belong to another process that sends the notice now.
  if (found.state !== 'sending' || clock.now() - found.at >= MAX_ATTEMPT_MS) await reconcileRow(ledger, found, clock);
  const archivePort =
    published === undefined ? {} : { recordAttempt: (record: AttemptRecord) => archive.putAttempt(published, record) };
  const service = mail?.service ?? 'mail';
  for (const delayMs of [0, ...RETRY_DELAYS_MS]) {
    const { state, decisions } = await ledger.open(row, clock.now());
    if (state !== 'pending' || !(await waitUnlessAborted(delayMs, clock, signal))) break;
    if ((await circuit?.check(service)) !== undefined) break;
    const isResend = decisions.length > 0;
    const result = await attempt(row, () => prepareNotice(row, input, isResend), {
      ledger,
      clock,
      signal,
      ...archivePort,
    });
    if (result === undefined) break;
    if (result.targetDown) await circuit?.recordFailure(service, result.detail);
    else if (result.state === 'sent') await circuit?.recordSuccess(service);
    observe({ type: 'delivered', target: NOTICE_TARGET, recipient, state: result.state, detail: result.detail });
  }
  const { state, detail } = await ledger.open(row, clock.now());
  const messageId = mail === undefined || state === 'pending' ? null : messageIdOf(id, mail.from);
  return Object.freeze({ delivery: id, target: NOTICE_TARGET, recipient, state, detail, messageId });
}

/** False when aborted: the notice then stays `pending`. */
async function waitUnlessAborted(ms: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
  if (ms > 0) await clock.sleep(ms, signal).catch(() => {});
  return !signal.aborted;
}

/** @param isResend a person has decided to send it again: then the archived bytes are sent, where they exist */
async function prepareNotice(row: NewDelivery, input: NoticeInput, isResend: boolean): Promise<SendFn> {
  const { order, published, mail, archive } = input;
  if (mail === undefined) {
    throw new DocketError('deliver.target_refused', 'The owner cannot be notified: no mail server is configured.', {
      next: 'Set SMTP_URL and MAIL_FROM, or smtp in org.yaml.',
    });
  }
  const message = await buildEmail({
    delivery: row.id,
    run: order.id,
    from: mail.from,
    fromName: mail.fromName,
    list: order,
    to: row.recipient,
    subject: noticeSubject(input),
    text: noticeText(input),
    html: noticeHtml(input),
    attachments: [],
    date: new Date(order.createdAt),
    dkim: mail.dkim,
  });
  if (published === undefined) return emailSender(mail.mailer, message);
  const raw = (isResend ? await archive.getMessage(published, row.id) : undefined) ?? message.raw;
  return emailSender(mail.mailer, { ...message, raw }, await archive.putMessage(published, row.id, raw));
}
