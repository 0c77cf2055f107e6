import { DocketError } from '../base/error.ts';
import { fillSubject } from '../base/subject.ts';
import type { Definition } from '../define/definition.ts';
import { canonicalAddress, recipientFault } from '../define/recipients.ts';
import { bytesOf } from '../define/size.ts';
import { type Artifact, type MailBody, mailFiles } from '../render/artifact.ts';
import { assertSameMail } from './archived-message.ts';
import type { Leave } from './attempt.ts';
import { recipientKey } from './decision.ts';
import { type Delivery, rowOf, variablesOf } from './delivery.ts';
import { deliveryId, type NewDelivery } from './ledger.ts';
import { linkedBody, linksTo } from './mail-links.ts';
import { buildMessage, MAX_ATTACHMENT_BYTES, messageIdOf } from './message.ts';
import { artifactBytes } from './sealed-folder.ts';
import { sendMessage } from './send-message.ts';
import type { DeliveryContext } from './targets.ts';

type EmailTarget = NonNullable<Definition['deliveries'][number]['email']>;

const NO_MAIL = 'No mail server is configured (SMTP_URL and MAIL_FROM, or smtp in org.yaml).';

/** One delivery a mailbox, also where one message names all of them: what becomes of it may differ. */
export function emailDeliveries(
  target: string,
  spec: EmailTarget,
  context: DeliveryContext,
  deliveries: () => readonly Delivery[],
): Delivery[] {
  const { sealed, mail } = context;
  const byMailbox = new Map(spec.to.map((recipient) => [recipientKey(recipient), recipient] as const));
  return [...byMailbox].map(([mailbox, recipient]) => {
    const row = rowOf(sealed, target, canonicalAddress(recipient) ?? recipient, mailbox);
    return {
      row,
      service: mail?.service ?? 'mail',
      messageId: mail === undefined ? null : messageIdOf(spec.together ? threadOf(row) : row.id, mail.from),
      // Files that are too large are linked to where they are, which must be true when somebody clicks.
      ...(tooLarge(spec, context) ? { turn: 1 as const } : {}),
      prepare: (before) => prepareMail(row, before, spec, context, deliveries),
    };
  });
}

/** What the one message for all recipients is called; no mailbox is called so. */
const threadOf = ({ run, target }: NewDelivery): string => deliveryId(run, target, '');

const limitOf = ({ max_attachment }: EmailTarget): number =>
  max_attachment === undefined ? MAX_ATTACHMENT_BYTES : bytesOf(max_attachment);

/** Before a byte is read: what the archive says of the files' sizes. */
function tooLarge(spec: EmailTarget, { sealed: { artifacts, mail } }: DeliveryContext): boolean {
  const files = mailFiles(artifacts, spec.attach).reduce((sum, { bytes }) => sum + bytes, 0);
  const pictures = mail.pictures.reduce((sum, { bytes }) => sum + bytes.length, 0);
  return files > 0 && files + pictures > limitOf(spec);
}

async function prepareMail(
  row: NewDelivery,
  before: number,
  spec: EmailTarget,
  context: DeliveryContext,
  deliveries: () => readonly Delivery[],
): Promise<Leave> {
  const { settings, sealed, archive, mail, ledger } = context;
  const { manifest } = sealed;
  const fault = recipientFault(row.recipient, settings.recipients);
  if (fault !== undefined) {
    throw new DocketError('deliver.recipient_refused', `${JSON.stringify(row.recipient)} ${fault}.`, {
      next: 'Correct the recipient, or allow it in org.yaml.',
    });
  }
  if (mail === undefined) return async () => ({ state: 'pending', detail: NO_MAIL });
  const attached = attachments(spec, sealed.artifacts);
  let body: Pick<MailBody, 'html' | 'text'> = sealed.mail;
  const linked = tooLarge(spec, context);
  if (linked) {
    const rows = await ledger.list(row.run);
    const found = await linksTo({ formats: spec.attach, sealed, deliveries: deliveries(), rows, archive });
    if ('waitsFor' in found) {
      const detail = `The files are too large to attach; waits for ${found.waitsFor} to have them.`;
      return async () => ({ state: 'pending', detail });
    }
    body = linkedBody(sealed.mail, found, limitOf(spec));
  }
  const everybody = spec.to.flatMap((recipient) =>
    recipientFault(recipient, settings.recipients) === undefined ? (canonicalAddress(recipient) ?? []) : [],
  );
  const message = await buildMessage({
    delivery: row.id,
    run: manifest.run,
    from: mail.from,
    to: row.recipient,
    ...(spec.together ? { addressed: uniqueMailboxes(everybody), thread: threadOf(row) } : {}),
    ...(canonicalAddress(manifest.owner) === undefined ? {} : { replyTo: manifest.owner }),
    subject: fillSubject(spec.subject, variablesOf(manifest), 'deliveries[].email.subject'),
    text: body.text,
    html: body.html,
    pictures: sealed.mail.pictures,
    attachments: await Promise.all(
      (linked ? [] : attached).map(async (artifact) => ({
        name: artifact.name,
        mediaType: artifact.mediaType,
        content: await artifactBytes(artifact),
      })),
    ),
    date: new Date(manifest.made_at),
    maxBytes: limitOf(spec),
    dkim: mail.dkim,
  });
  // The rule is asked again of what really goes onto the wire, whatever built it.
  const envelopeFault = recipientFault(message.envelope.to, settings.recipients);
  if (envelopeFault !== undefined) {
    throw new DocketError('deliver.recipient_refused', `${message.envelope.to} ${envelopeFault}.`);
  }
  // Links are of the day on which they were made.
  if (!linked && before > 0) await assertSameMail(archive, sealed, row.id, message);
  return sendMessage(mail.mailer, message, await archive.keepMessage(sealed, row.id, message.raw));
}

const uniqueMailboxes = (addresses: readonly string[]): readonly string[] => [
  ...new Map(addresses.map((address) => [recipientKey(address), address] as const)).values(),
];

/** The artifacts of the formats to attach. A format that nothing was made in is refused: no mail without its report. */
function attachments(spec: EmailTarget, artifacts: readonly Artifact[]): readonly Artifact[] {
  const missing = spec.attach.find((format) => !artifacts.some((artifact) => artifact.format === format));
  if (missing !== undefined) {
    throw new DocketError('deliver.target_refused', `The run made no ${missing} file to attach.`, {
      expected: `a file of each format in attach: ${spec.attach.join(', ')}`,
      got: artifacts.map(({ name }) => name).join(', ') || 'no files',
    });
  }
  return mailFiles(artifacts, spec.attach);
}
