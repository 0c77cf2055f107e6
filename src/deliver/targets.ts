import { DocketError } from '../base/error.ts';
import { fillTemplate, type TemplateVariables } from '../base/template.ts';
import type { Definition } from '../define/definition.ts';
import type { OrgSettings } from '../define/org.ts';
import { addressKey, canonicalAddress, recipientFault } from '../define/recipients.ts';
import { type Artifact, folderFiles, mailFiles } from '../render/artifact.ts';
import type { Archive, Manifest, Sealed } from './archive.ts';
import type { Leave } from './attempt.ts';
import { holdsAll, targetFolder, writeAll } from './directory-target.ts';
import { deliveryId, type NewDelivery } from './ledger.ts';
import type { Mailer } from './mailer.ts';
import { buildMessage, messageIdOf } from './message.ts';
import { artifactBytes } from './sealed-folder.ts';
import { sendMessage } from './send-message.ts';

type EmailTarget = NonNullable<Definition['deliveries'][number]['email']>;
type DirectoryTarget = NonNullable<Definition['deliveries'][number]['directory']>;

/** How an organization's e-mail leaves: its own server, or the deployment's. */
export interface MailRoute {
  readonly mailer: Mailer;
  /** The sender's address. */
  readonly from: string;
}

/** One delivery of a definition: its ledger row, and how to make it. */
export interface Delivery {
  readonly row: NewDelivery;
  /** Deliveries of one service go down together. */
  readonly service: 'mail' | 'directory';
  readonly messageId: string | null;
  /** Archives what will leave. Throws `deliver.*` when it is refused for good. */
  readonly prepare: () => Promise<Leave>;
  /** Whether the target shows that this was delivered; for a row that was left `sending`. */
  readonly proof?: () => Promise<boolean>;
}

export interface DeliveryContext {
  readonly definition: Definition;
  readonly settings: OrgSettings;
  readonly sealed: Sealed;
  readonly archive: Archive;
  readonly mail: MailRoute | undefined;
  readonly workingDirectory: string;
}

const NO_MAIL = 'No mail server is configured (SMTP_URL and MAIL_FROM, or smtp in org.yaml).';

/** The variables of subjects and paths. */
const variablesOf = ({ period, org, report, title, run }: Manifest): TemplateVariables => ({
  period,
  org,
  report,
  title,
  run,
});

/** Every delivery of the definition, in its order; a mailbox that a target names twice gets one message. */
export function listDeliveries(context: DeliveryContext): Delivery[] {
  return context.definition.deliveries.flatMap((delivery, index) => {
    if (delivery.email !== undefined) return emailDeliveries(`${index}-email`, delivery.email, context);
    if (delivery.directory !== undefined) return [directoryDelivery(`${index}-directory`, delivery.directory, context)];
    return [];
  });
}

function rowOf({ manifest }: Sealed, target: string, recipient: string, key = recipient): NewDelivery {
  const { run, org, report } = manifest;
  return { id: deliveryId(run, target, key), run, org, report, target, recipient };
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

/** What a template makes; undefined when it makes nothing, which `prepare` then refuses with its reason. */
function filled(fill: () => string): string | undefined {
  try {
    return fill();
  } catch {
    return undefined;
  }
}

function directoryDelivery(target: string, spec: DirectoryTarget, context: DeliveryContext): Delivery {
  const { sealed, workingDirectory } = context;
  // A title may hold a "/"; a folder of the path it must not become.
  const variables = { ...variablesOf(sealed.manifest), title: sealed.manifest.title.replace(/[/\\]+/g, '-') };
  const fill = (): string => fillTemplate(spec.path, variables, 'the directory');
  const folder = (): string => targetFolder(fill(), workingDirectory);
  return {
    row: rowOf(sealed, target, filled(fill) ?? spec.path, spec.path),
    service: 'directory',
    messageId: null,
    prepare: async () => {
      const path = folder();
      return (signal) => writeAll(path, folderFiles(sealed.artifacts), signal);
    },
    proof: async () => holdsAll(folder(), folderFiles(sealed.artifacts)),
  };
}
