import { DocketError } from '../../../base/error.ts';
import { renderSubject } from '../../../base/text/email-subject.ts';
import { canonicalAddress, recipientRefusal } from '../../../definitions/allow-lists/recipients.ts';
import { bytesOf } from '../../../definitions/schema/primitives.ts';
import type { Definition } from '../../../definitions/schema/report-definition.ts';
import { type Artifact, type MailBody, mailAttachments } from '../../../render/artifact.ts';
import { artifactBytes } from '../../archive/run-folder.ts';
import type { AttemptResult, SendFn } from '../../attempt.ts';
import { deliveryId, type NewDelivery } from '../../ledger/ledger.ts';
import { assertSameEmail } from '../../resend-check.ts';
import { recipientKey } from '../../send-decision.ts';
import type { DeliveryContext } from '../registry.ts';
import { type Delivery, newRow, templateVariables } from '../target.ts';
import { buildEmail, type EmailMessage, MAX_ATTACHMENT_BYTES, messageIdOf } from './email-message.ts';
import { findFileLinks, withFileLinks } from './file-links.ts';
import type { Mailer } from './smtp/smtp-mailer.ts';
import type { SendResult } from './smtp/smtp-replies.ts';

type EmailTarget = NonNullable<Definition['deliveries'][number]['email']>;

const NO_MAIL_SERVER = 'No mail server is configured (SMTP_URL and MAIL_FROM, or smtp in org.yaml).';

/** One delivery a mailbox, also where one message names all of them: what becomes of it may differ. */
export function emailDeliveries(
  target: string,
  spec: EmailTarget,
  context: DeliveryContext,
  deliveries: () => readonly Delivery[],
): Delivery[] {
  const { published, mail } = context;
  const byMailbox = new Map(spec.to.map((recipient) => [recipientKey(recipient), recipient] as const));
  return [...byMailbox].map(([mailbox, recipient]) => {
    const row = newRow(published, target, canonicalAddress(recipient) ?? recipient, mailbox);
    return {
      row,
      service: mail?.service ?? 'mail',
      messageId: mail === undefined ? null : messageIdOf(spec.together ? sharedMessageKey(row) : row.id, mail.from),
      // Files that are too large are linked to where they are, which must be true when somebody clicks.
      ...(exceedsLimit(spec, context) ? { phase: 1 as const } : {}),
      prepare: (before) => prepareEmail(row, before, spec, context, deliveries),
    };
  });
}

/** What the one message for all recipients is called; no mailbox is called so. */
const sharedMessageKey = ({ run, target }: NewDelivery): string => deliveryId(run, target, '');

const attachmentLimit = ({ max_attachment }: EmailTarget): number =>
  max_attachment === undefined ? MAX_ATTACHMENT_BYTES : bytesOf(max_attachment);

/** Before a byte is read: what the archive says of the files' sizes. */
function exceedsLimit(spec: EmailTarget, { published: { artifacts, mail } }: DeliveryContext): boolean {
  const files = mailAttachments(artifacts, spec.attach).reduce((sum, { bytes }) => sum + bytes, 0);
  const pictures = mail.pictures.reduce((sum, { bytes }) => sum + bytes.length, 0);
  return files > 0 && files + pictures > attachmentLimit(spec);
}

async function prepareEmail(
  row: NewDelivery,
  before: number,
  spec: EmailTarget,
  context: DeliveryContext,
  deliveries: () => readonly Delivery[],
): Promise<SendFn> {
  const { settings, published, archive, mail, ledger } = context;
  const { manifest } = published;
  const fault = recipientRefusal(row.recipient, settings.recipients);
  if (fault !== undefined) {
    throw new DocketError('deliver.recipient_refused', `${JSON.stringify(row.recipient)} ${fault}.`, {
      next: 'Correct the recipient, or allow it in org.yaml.',
    });
  }
  if (mail === undefined) return async () => ({ state: 'pending', detail: NO_MAIL_SERVER });
  const attached = selectAttachments(spec, published.artifacts);
  let body: Pick<MailBody, 'html' | 'text'> = published.mail;
  const linked = exceedsLimit(spec, context);
  if (linked) {
    const rows = await ledger.list(row.run);
    const found = await findFileLinks({
      formats: spec.attach,
      sealed: published,
      deliveries: deliveries(),
      rows,
      archive,
    });
    if ('waitsFor' in found) {
      const detail = `The files are too large to attach; waits for ${found.waitsFor} to have them.`;
      return async () => ({ state: 'pending', detail });
    }
    body = withFileLinks(published.mail, found, attachmentLimit(spec));
  }
  const everybody = spec.to.flatMap((recipient) =>
    recipientRefusal(recipient, settings.recipients) === undefined ? (canonicalAddress(recipient) ?? []) : [],
  );
  const message = await buildEmail({
    delivery: row.id,
    run: manifest.run,
    from: mail.from,
    to: row.recipient,
    ...(spec.together ? { visibleRecipients: uniqueMailboxes(everybody), sharedKey: sharedMessageKey(row) } : {}),
    ...(canonicalAddress(manifest.owner) === undefined ? {} : { replyTo: manifest.owner }),
    subject: renderSubject(spec.subject, templateVariables(manifest), 'deliveries[].email.subject'),
    text: body.text,
    html: body.html,
    pictures: published.mail.pictures,
    attachments: await Promise.all(
      (linked ? [] : attached).map(async (artifact) => ({
        name: artifact.name,
        mediaType: artifact.mediaType,
        content: await artifactBytes(artifact),
      })),
    ),
    date: new Date(manifest.made_at),
    maxBytes: attachmentLimit(spec),
    dkim: mail.dkim,
  });
  // The rule is asked again of what really goes onto the wire, whatever built it.
  const envelopeFault = recipientRefusal(message.envelope.to, settings.recipients);
  if (envelopeFault !== undefined) {
    throw new DocketError('deliver.recipient_refused', `${message.envelope.to} ${envelopeFault}.`);
  }
  // Links are of the day on which they were made.
  if (!linked && before > 0) await assertSameEmail(archive, published, row.id, message);
  return emailSender(mail.mailer, message, await archive.putMessage(published, row.id, message.raw));
}

const uniqueMailboxes = (addresses: readonly string[]): readonly string[] => [
  ...new Map(addresses.map((address) => [recipientKey(address), address] as const)).values(),
];

/** The artifacts of the formats to attach. A format that nothing was made in is refused: no mail without its report. */
function selectAttachments(spec: EmailTarget, artifacts: readonly Artifact[]): readonly Artifact[] {
  const missing = spec.attach.find((format) => !artifacts.some((artifact) => artifact.format === format));
  if (missing !== undefined) {
    throw new DocketError('deliver.target_refused', `The run made no ${missing} file to attach.`, {
      expected: `a file of each format in attach: ${spec.attach.join(', ')}`,
      got: artifacts.map(({ name }) => name).join(', ') || 'no files',
    });
  }
  return mailAttachments(artifacts, spec.attach);
}

/**
 * A finished message on its way: the server's answer becomes the ledger's state.
 * @param kept its SHA-256 (hex) where the archive keeps it
 */
export function emailSender(mailer: Mailer, message: EmailMessage, kept?: string): SendFn {
  const leave: SendFn = async (signal, fence) =>
    toAttemptResult(await mailer.send(message.envelope, message.raw, signal, fence));
  return kept === undefined ? leave : Object.assign(leave, { message: kept });
}

function toAttemptResult(result: SendResult): AttemptResult {
  switch (result.kind) {
    case 'accepted':
      return { state: 'sent', detail: result.response };
    case 'refused':
      return { state: 'refused', detail: result.response };
    case 'deferred':
      return { state: 'pending', detail: result.response, targetDown: result.server };
    case 'unknown':
      return { state: 'unknown', detail: result.why };
  }
}
