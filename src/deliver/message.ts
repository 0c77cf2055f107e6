import { createHash } from 'node:crypto';
import MailComposer from 'nodemailer/lib/mail-composer';
import { DocketError } from '../base/error.ts';
import { headerText } from '../base/subject.ts';
import { canonicalAddress } from '../define/recipients.ts';
import { type DkimKey, signMessage } from './dkim.ts';
import { oneLine } from './one-line.ts';

/** Attachments and pictures of one message together, before encoding, where nothing else is said. Many servers refuse more, and some after the dot. */
export const MAX_ATTACHMENT_BYTES = 10 * 1024 * 1024;

const MAX_SUBJECT = 200;

export interface Attachment {
  readonly name: string;
  readonly mediaType: string;
  readonly content: Uint8Array;
}

/** A picture that the HTML shows as `cid:<cid>`. */
export interface InlinePicture {
  /** Content-ID without brackets. */
  readonly cid: string;
  readonly name: string;
  /** PNG. */
  readonly bytes: Uint8Array;
}

export interface MessageParts {
  /** The ledger row's id. */
  readonly delivery: string;
  readonly run: string;
  readonly from: string;
  /** Who gets this one. */
  readonly to: string;
  /** Everybody whom the message names as recipients, where it is one for all; `to` alone otherwise. */
  readonly addressed?: readonly string[];
  /** Names the message in its Message-ID, where it is one for several deliveries; `delivery` otherwise. */
  readonly thread?: string;
  /** Whom an answer reaches: the report's owner. */
  readonly replyTo?: string;
  readonly subject: string;
  readonly text: string;
  readonly html?: string;
  readonly attachments: readonly Attachment[];
  /** Sent as parts related to the HTML; no reader sees them among the attachments. */
  readonly pictures?: readonly InlinePicture[];
  /** The same for every attempt, so that every attempt has the same bytes. */
  readonly date: Date;
  /** Of attachments and pictures together, in bytes. */
  readonly maxBytes?: number;
  readonly dkim?: DkimKey | undefined;
}

export interface Message {
  readonly messageId: string;
  readonly envelope: { readonly from: string; readonly to: string };
  readonly raw: Uint8Array;
  /** What separates its parts: another one for other texts, files or pictures, and the same for another sender or signature. */
  readonly boundary: string;
}

/** An address in canonical form, or `deliver.recipient_refused`: nothing else gets into a header or an envelope. */
function address(value: string, what: string): string {
  const canonical = canonicalAddress(value);
  if (canonical !== undefined) return canonical;
  throw new DocketError('deliver.recipient_refused', `The ${what} of the message is not a plain e-mail address.`, {
    expected: 'name@domain.example',
    got: JSON.stringify(value),
  });
}

/**
 * The Message-ID of a delivery: a hash of the ledger row's id at the sender's domain. Every attempt of a delivery has
 * the same one, so a double that did happen can be recognised at the recipient's side, and a message in a mailbox can
 * be traced to its row. A plain hash, no HMAC: a Message-ID proves nothing and guards nothing, and a key would have to
 * stay the same for ever for this to hold.
 */
export function messageIdOf(delivery: string, from: string): string {
  const domain = from.slice(from.lastIndexOf('@') + 1);
  const hash = createHash('sha256').update(`message:${delivery}`).digest('hex').slice(0, 40);
  return `<${hash}@${domain}>`;
}

/**
 * What separates the parts: a hash of the parts themselves. The same for the same message, and nothing inside them can
 * hold it, so that data in a text cannot end its part and begin an attachment. A message that is sent again is compared by
 * it with the one in the archive: made in another way, it would be refused there.
 */
function boundaryOf({
  delivery,
  thread = delivery,
  text,
  html = '',
  attachments,
  pictures = [],
}: MessageParts): string {
  const hash = createHash('sha256').update(JSON.stringify([thread, text, html]));
  for (const { name, content } of attachments)
    hash.update(`\n${JSON.stringify(name)} ${content.length}\n`).update(content);
  for (const { cid, bytes } of pictures) hash.update(`\n${JSON.stringify(cid)} ${bytes.length}\n`).update(bytes);
  return hash.digest('hex').slice(0, 32);
}

/**
 * The exact MIME message of one delivery. The same parts make the same bytes, so that a retry sends what was archived.
 * Throws `deliver.recipient_refused` for an address that is not plain, `deliver.target_refused` for attachments that
 * are too large.
 */
export async function buildMessage(parts: MessageParts): Promise<Message> {
  const from = address(parts.from, 'sender');
  const to = address(parts.to, 'recipient');
  const addressed = (parts.addressed ?? [parts.to]).map((each) => address(each, 'recipient'));
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
  const messageId = messageIdOf(parts.thread ?? parts.delivery, from);
  const boundary = boundaryOf(parts);
  const message = new MailComposer({
    from,
    to: addressed,
    ...(parts.replyTo === undefined ? {} : { replyTo: address(parts.replyTo, 'owner') }),
    subject: oneLine(headerText(parts.subject), MAX_SUBJECT),
    messageId,
    date: parts.date,
    headers: {
      'X-Docket-Run': oneLine(parts.run),
      // RFC 3834: asks mailboxes not to answer with an out-of-office note.
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
