import { createHash } from 'node:crypto';
import { DocketError } from '../../../base/error.ts';
import { oneLine } from '../../../base/text/bidi.ts';
import { headerText } from '../../../base/text/email-subject.ts';
import { canonicalAddress } from '../../../definitions/allow-lists/recipients.ts';
import type { InlineImage } from '../../../render/artifact.ts';
import { type DkimKey, signMessage } from './dkim.ts';

/** Default limit for attachments and pictures of one message, before encoding. Many servers refuse larger messages. */
export const MAX_ATTACHMENT_BYTES = 10 * 1024 * 1024;

const MAX_SUBJECT_LENGTH = 200;

export interface Attachment {
  readonly name: string;
  readonly mediaType: string;
  readonly content: Uint8Array;
}

export interface EmailParts {
  /** The ledger row's id. */
  readonly delivery: string;
  readonly run: string;
  readonly from: string;
  /** The envelope recipient. */
  readonly to: string;
  /** The addresses of the `To` header of a message for several recipients; default `to`. */
  readonly visibleRecipients?: readonly string[];
  /** The key of the Message-ID of a message for several deliveries; default `delivery`. */
  readonly sharedKey?: string;
  /** The report's owner. */
  readonly replyTo?: string;
  readonly subject: string;
  readonly text: string;
  readonly html?: string;
  readonly attachments: readonly Attachment[];
  /** Parts related to the HTML, not listed as attachments. */
  readonly pictures?: readonly InlineImage[];
  /** The same for every attempt, because every attempt must have the same bytes. */
  readonly date: Date;
  /** Of attachments and pictures together, in bytes. */
  readonly maxBytes?: number;
  readonly dkim?: DkimKey | undefined;
}

export interface EmailMessage {
  readonly messageId: string;
  readonly envelope: { readonly from: string; readonly to: string };
  readonly raw: Uint8Array;
  /** The MIME boundary: differs for other texts, files or pictures; the same for another sender or signature. */
  readonly boundary: string;
}

/** An address in canonical form, for headers and envelope. Throws `deliver.recipient_refused`. */
function requireAddress(value: string, what: string): string {
  const canonical = canonicalAddress(value);
  if (canonical !== undefined) return canonical;
  throw new DocketError('deliver.recipient_refused', `The ${what} of the message is not a plain e-mail address.`, {
    expected: 'name@domain.example',
    got: JSON.stringify(value),
  });
}

/**
 * The Message-ID of a delivery: a hash of the ledger row's id at the sender's domain. All attempts share it, so a recipient
 * can recognize a duplicate, and a message in a mailbox can be traced to its row. A plain hash without a key: the
 * Message-ID protects nothing, and a key could never be rotated.
 */
export function messageIdOf(delivery: string, from: string): string {
  const domain = from.slice(from.lastIndexOf('@') + 1);
  const hash = createHash('sha256').update(`message:${delivery}`).digest('hex').slice(0, 40);
  return `<${hash}@${domain}>`;
}

/**
 * The MIME boundary: a hash of the parts. The same for the same message, and no part can contain it, so a text cannot end
 * its part and begin an attachment. A repeated message is compared with the archived one by it: a change of this function
 * makes repetitions fail.
 */
function mimeBoundary({
  delivery,
  sharedKey = delivery,
  text,
  html = '',
  attachments,
  pictures = [],
}: EmailParts): string {
  const hash = createHash('sha256').update(JSON.stringify([sharedKey, text, html]));
  for (const { name, content } of attachments)
    hash.update(`\n${JSON.stringify(name)} ${content.length}\n`).update(content);
  for (const { cid, bytes } of pictures) hash.update(`\n${JSON.stringify(cid)} ${bytes.length}\n`).update(bytes);
  return hash.digest('hex').slice(0, 32);
}

/**
 * The MIME message of one delivery. The same parts give the same bytes, so a retry sends the archived message.
 * Throws `deliver.recipient_refused` for an address that is not plain, `deliver.target_refused` for attachments that
 * are too large.
 */
export async function buildEmail(parts: EmailParts): Promise<EmailMessage> {
  const from = requireAddress(parts.from, 'sender');
  const to = requireAddress(parts.to, 'recipient');
  const visible = (parts.visibleRecipients ?? [parts.to]).map((address) => requireAddress(address, 'recipient'));
  const pictures = parts.pictures ?? [];
  const maxBytes = parts.maxBytes ?? MAX_ATTACHMENT_BYTES;
  const size = [...parts.attachments.map(({ content }) => content), ...pictures.map(({ bytes }) => bytes)].reduce(
    (sum, { length }) => sum + length,
    0,
  );
  if (size > maxBytes) {
    throw new DocketError('deliver.target_refused', 'The attachments are too large for an e-mail.', {
      expected: `at most ${maxBytes} bytes together`,
      got: `${size} bytes: ${parts.attachments.map(({ name, content }) => `${name} (${content.length})`).join(', ')}`,
      next: 'Attach fewer files, narrow the report, raise max_attachment, or add an S3 or SFTP delivery: the mail then links to it.',
    });
  }
  const messageId = messageIdOf(parts.sharedKey ?? parts.delivery, from);
  const boundary = mimeBoundary(parts);
  // Loaded on first use: most commands send nothing.
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer');
  const message = new MailComposer({
    from,
    to: visible,
    ...(parts.replyTo === undefined ? {} : { replyTo: requireAddress(parts.replyTo, 'owner') }),
    subject: oneLine(headerText(parts.subject), MAX_SUBJECT_LENGTH),
    messageId,
    date: parts.date,
    headers: {
      'X-Docket-Run': oneLine(parts.run),
      // RFC 3834: suppresses out-of-office replies.
      'Auto-Submitted': 'auto-generated',
    },
    text: parts.text,
    ...(parts.html === undefined ? {} : { html: parts.html }),
    attachments: [
      ...pictures.map(({ cid, name, bytes }) => ({
        cid,
        filename: name,
        contentType: 'image/png',
        contentDisposition: 'inline' as const,
        content: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
      })),
      ...parts.attachments.map(({ name, mediaType, content }) => ({
        filename: headerText(name),
        contentType: mediaType,
        content: Buffer.from(content.buffer, content.byteOffset, content.byteLength),
      })),
    ],
    baseBoundary: boundary,
    newline: 'win',
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const built = await message.compile().build();
  const raw = parts.dkim === undefined ? built : await signMessage(built, parts.dkim);
  return Object.freeze({ messageId, envelope: Object.freeze({ from, to }), raw, boundary });
}
