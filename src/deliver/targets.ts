import { DocketError } from '../base/error.ts';
import { fillTemplate } from '../base/template.ts';
import type { Definition } from '../define/definition.ts';
import { addressKey, canonicalAddress, recipientFault } from '../define/recipients.ts';
import { type Artifact, mailFiles } from '../render/artifact.ts';
import type { Leave } from './attempt.ts';
import { type Delivery, type PlaceContext, rowOf, variablesOf } from './delivery.ts';
import type { NewDelivery } from './ledger.ts';
import type { Mailer } from './mailer.ts';
import { buildMessage, messageIdOf } from './message.ts';
import { directoryDelivery, s3Delivery, sftpDelivery, webhookDelivery } from './places.ts';
import { artifactBytes } from './sealed-folder.ts';
import { sendMessage } from './send-message.ts';

type EmailTarget = NonNullable<Definition['deliveries'][number]['email']>;

/** How an organization's e-mail leaves: its own server, or the deployment's. */
export interface MailRoute {
  readonly mailer: Mailer;
  /** The sender's address. */
  readonly from: string;
}

export interface DeliveryContext extends PlaceContext {
  readonly definition: Definition;
  readonly mail: MailRoute | undefined;
}

const NO_MAIL = 'No mail server is configured (SMTP_URL and MAIL_FROM, or smtp in org.yaml).';

/** Every delivery of the definition, in its order; a mailbox that a target names twice gets one message. */
export function listDeliveries(context: DeliveryContext): Delivery[] {
  const all: Delivery[] = context.definition.deliveries.flatMap(({ email, directory, s3, sftp, webhook }, index) => {
    if (email !== undefined) return emailDeliveries(`${index}-email`, email, context);
    if (directory !== undefined) return [directoryDelivery(`${index}-directory`, directory, context)];
    if (s3 !== undefined) return [s3Delivery(`${index}-s3`, s3, context)];
    if (sftp !== undefined) return [sftpDelivery(`${index}-sftp`, sftp, context)];
    if (webhook !== undefined) return [webhookDelivery(`${index}-webhook`, webhook, context, () => all)];
    return [];
  });
  return all;
}

function emailDeliveries(target: string, spec: EmailTarget, context: DeliveryContext): Delivery[] {
  const { sealed, mail } = context;
  const byMailbox = new Map(spec.to.map((recipient) => [addressKey(recipient) ?? recipient, recipient] as const));
  return [...byMailbox].map(([mailbox, recipient]) => {
    const row = rowOf(sealed, target, canonicalAddress(recipient) ?? recipient, mailbox);
    return {
      row,
      service: 'mail',
      messageId: mail === undefined ? null : messageIdOf(row.id, mail.from),
      prepare: () => prepareMail(row, spec, context),
    };
  });
}

async function prepareMail(row: NewDelivery, spec: EmailTarget, context: DeliveryContext): Promise<Leave> {
  const { settings, sealed, archive, mail } = context;
  const { manifest } = sealed;
  const fault = recipientFault(row.recipient, settings.recipients);
  if (fault !== undefined) {
    throw new DocketError('deliver.recipient_refused', `${JSON.stringify(row.recipient)} ${fault}.`, {
      next: 'Correct the recipient, or allow it in org.yaml.',
    });
  }
  if (mail === undefined) return async () => ({ state: 'pending', detail: NO_MAIL, targetDown: true });
  const attached = attachments(spec, sealed.artifacts);
  const message = await buildMessage({
    delivery: row.id,
    run: manifest.run,
    from: mail.from,
    to: row.recipient,
    ...(canonicalAddress(manifest.owner) === undefined ? {} : { replyTo: manifest.owner }),
    subject: fillTemplate(spec.subject ?? '{{ title }} {{ period.label }}', variablesOf(manifest), 'the subject'),
    text: sealed.mail.text,
    html: sealed.mail.html,
    pictures: sealed.mail.pictures,
    attachments: await Promise.all(
      attached.map(async (artifact) => ({
        name: artifact.name,
        mediaType: artifact.mediaType,
        content: await artifactBytes(artifact),
      })),
    ),
    date: new Date(manifest.made_at),
  });
  // The rule is asked again of what really goes onto the wire, whatever built it.
  const envelopeFault = recipientFault(message.envelope.to, settings.recipients);
  if (envelopeFault !== undefined) {
    throw new DocketError('deliver.recipient_refused', `${message.envelope.to} ${envelopeFault}.`);
  }
  await archive.keepMessage(sealed, row.id, message.raw);
  return sendMessage(mail.mailer, message);
}

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
