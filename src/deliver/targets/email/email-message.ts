import { createHash } from 'node:crypto';
import { DocketError } from '../../../base/error.ts';
import { sha256 } from '../../../base/sha256.ts';
import { oneLine } from '../../../base/text/bidi.ts';
import { cutAtWord } from '../../../base/text/cut-text.ts';
import { headerText } from '../../../base/text/email-subject.ts';
import { asciiLowerCase } from '../../../base/text/fold.ts';
import { canonicalAddress } from '../../../definitions/allow-lists/recipients.ts';
import type { InlineImage } from '../../../render/artifact.ts';
import { type DkimKey, signMessage } from './dkim.ts';

/** Default limit for a message's attachments and pictures together, in their encoded size. Many servers refuse more. */
export const MAX_ATTACHMENT_BYTES = 10 * 1024 * 1024;

const MAX_SUBJECT_LENGTH = 200;
/** A longer subject is cut at a word. */
const MAX_UNCUT_SUBJECT_LENGTH = 2 * MAX_SUBJECT_LENGTH;
const MAX_NAME_LENGTH = 100;

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
  /** The sender's name. Absent: the address alone is shown. */
  readonly fromName?: string | undefined;
  /** Organization and report for the `List-Id`: stable ids without spaces. */
  readonly list: { readonly org: string; readonly report: string };
  /** The envelope recipient. */
  readonly to: string;
  /** The `To` header of one message to several recipients. Absent: `to` alone. */
  readonly visibleRecipients?: readonly string[];
  /** The Message-ID is made from this if several deliveries share one message, otherwise from `delivery`. */
  readonly sharedKey?: string;
  /** The report's owner. */
  readonly replyTo?: string;
  readonly subject: string;
  readonly text: string;
  readonly html?: string;
  readonly attachments: readonly Attachment[];
  /** Inline parts of the HTML, not listed as attachments. */
  readonly pictures?: readonly InlineImage[];
  /** The date of the first attempt, so that all attempts have the same bytes. */
  readonly date: Date;
  /** Limit for attachments and pictures together, in their encoded size (`encodedLength`). */
  readonly maxBytes?: number;
  readonly dkim?: DkimKey | undefined;
  /** Replaces `encodeBase64`, e.g. to encode shared files only once. */
  readonly encode?: typeof encodeBase64;
}

export interface EmailMessage {
  readonly messageId: string;
  readonly envelope: { readonly from: string; readonly to: string };
  readonly raw: Uint8Array;
  /** The MIME boundary: a hash of texts, files and pictures that does not depend on sender or signature. */
  readonly boundary: string;
}

/**
 * The canonical form of an address. Throws `deliver.recipient_refused` for anything that must not appear in a header.
 */
function requireAddress(value: string, role: string): string {
  const canonical = canonicalAddress(value);
  if (canonical !== undefined) return canonical;
  throw new DocketError('deliver.recipient_refused', `The ${role} of the message is not a plain e-mail address.`, {
    expected: 'name@domain.example',
    got: JSON.stringify(value),
  });
}

/**
 * The Message-ID of a delivery: a hash of the ledger row's id at the sender's domain. All attempts share it, so that
 * mail programs can detect a duplicate and a message can be traced to its row. The hash has no key: a Message-ID proves
 * nothing, and the key could never be rotated.
 */
export function buildMessageId(delivery: string, from: string): string {
  const domain = from.slice(from.lastIndexOf('@') + 1);
  return `<${sha256(`message:${delivery}`).slice(0, 40)}@${domain}>`;
}

/** Matches what ids may contain, but atoms (RFC 5322) may not. */
const NO_ATOM = /[^A-Za-z0-9_-]+/g;
const atom = (id: string): string => id.replace(NO_ATOM, '-').slice(0, 60) || '-';

/**
 * The `List-Id` of a report (RFC 2919), `<report.org.domain>`, by which mail programs can sort. The same for every
 * message of the report, notices included.
 */
export function buildListId({ org, report }: EmailParts['list'], from: string): string {
  const domain = asciiLowerCase(from.slice(from.lastIndexOf('@') + 1));
  return `<${atom(report)}.${atom(org)}.${domain}>`;
}

/** A sender's or recipient's name for a header; undefined if nothing of it is visible. */
function displayName(name: string | undefined): string | undefined {
  const shown = name === undefined ? '' : oneLine(cutAtWord(oneLine(headerText(name)), MAX_NAME_LENGTH));
  // If nothing but an ellipsis is left of a name, the address says more.
  return shown === '' || shown === '…' ? undefined : shown;
}

/**
 * The MIME boundary: a hash of all parts. It is deterministic, and no part can contain it, so that report data cannot
 * end its part and start an attachment. `assertSameEmail` searches archived messages for it, so do not change how it is
 * made.
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

const LINE_LENGTH = 76;

/** Base64 in lines of 76 characters (RFC 2045), without a line break at the end. */
export const encodeBase64 = (bytes: Uint8Array): Buffer => {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  return Buffer.from((text.match(/.{1,76}/g) ?? []).join('\r\n'), 'latin1');
};

/** The length of `encodeBase64` for this many bytes. */
export function encodedLength(bytes: number): number {
  const length = 4 * Math.ceil(bytes / 3);
  return length + 2 * Math.max(0, Math.ceil(length / LINE_LENGTH) - 1);
}

/**
 * A placeholder for the n-th file while nodemailer builds a message. Encoding files is slow, and several messages share
 * the result. No part can contain the placeholder, because it is derived from the hash of all parts.
 */
const buildPlaceholder = (boundary: string, index: number): Buffer =>
  Buffer.from(sha256(`${boundary} ${index}`).slice(0, (LINE_LENGTH / 4) * 3));

/** The longest encoded word used in a header. RFC 2047 allows 75 characters. */
const WORD_LENGTH = 52;

/** Header text that mail programs would mistake for an encoded word (RFC 2047) and decode. */
interface HeaderWord {
  readonly placeholder: string;
  readonly text: string;
}

/**
 * Replaces text that looks like an encoded word with a placeholder, which nodemailer leaves alone. `withHeaderWords`
 * later replaces the placeholder with encoded words.
 */
const headerWord = (text: string, boundary: string, header: string): HeaderWord | undefined =>
  text.includes('=?') ? { placeholder: sha256(`${boundary} ${header}`).slice(0, WORD_LENGTH), text } : undefined;

/** Replaces the placeholders in a message with encoded words, one per line. */
function withHeaderWords(
  built: Buffer,
  words: readonly HeaderWord[],
  encodeWord: (text: string, encoding: 'B', length: number) => string,
): Buffer {
  let message = built;
  for (const { placeholder, text } of words) {
    const at = message.indexOf(placeholder, 0, 'latin1');
    if (at < 0) throw new Error('A text has no place in the headers of its message.');
    const encoded = encodeWord(text, 'B', WORD_LENGTH).replaceAll('?= =?', '?=\r\n =?');
    message = Buffer.concat([
      message.subarray(0, at),
      Buffer.from(encoded, 'latin1'),
      message.subarray(at + placeholder.length),
    ]);
  }
  return message;
}

/** Replaces the placeholders in a message with the encoded files. */
function withFiles(built: Buffer, boundary: string, files: readonly Buffer[]): Buffer {
  const parts: Buffer[] = [];
  let from = 0;
  for (const [index, file] of files.entries()) {
    const at = built.indexOf(buildPlaceholder(boundary, index).toString('base64'), from, 'latin1');
    if (at < 0) throw new Error('A file has no place in its message.');
    parts.push(built.subarray(from, at), file);
    from = at + LINE_LENGTH;
  }
  return Buffer.concat([...parts, built.subarray(from)]);
}

/**
 * Builds the exact MIME message of one delivery. Deterministic, so that a retry sends the archived bytes. Throws
 * `deliver.recipient_refused` for an address that is not plain, `deliver.target_refused` for attachments that are too
 * large.
 */
export async function buildEmail(parts: EmailParts): Promise<EmailMessage> {
  const from = requireAddress(parts.from, 'sender');
  const to = requireAddress(parts.to, 'recipient');
  const toHeader = (parts.visibleRecipients ?? [parts.to]).map((each) => requireAddress(each, 'recipient'));
  const pictures = parts.pictures ?? [];
  const maxBytes = parts.maxBytes ?? MAX_ATTACHMENT_BYTES;
  const size = [...parts.attachments.map(({ content }) => content), ...pictures.map(({ bytes }) => bytes)].reduce(
    (sum, { length }) => sum + encodedLength(length),
    0,
  );
  if (size > maxBytes) {
    throw new DocketError('deliver.target_refused', 'The attachments are too large for an e-mail.', {
      expected: `at most ${maxBytes} bytes together, as they are sent`,
      got: `${size} bytes as sent: ${parts.attachments.map(({ name, content }) => `${name} (${content.length})`).join(', ')}`,
      next: 'Attach fewer files, narrow the report, raise max_attachment, or add an S3 or SFTP delivery, to which the e-mail then links.',
    });
  }
  const messageId = buildMessageId(parts.sharedKey ?? parts.delivery, from);
  const boundary = mimeBoundary(parts);
  // Loaded on first use: most commands send nothing.
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer');
  const { encodeWord } = await import('nodemailer/lib/mime-funcs');
  const name = displayName(parts.fromName);
  const subject = oneLine(cutAtWord(oneLine(headerText(parts.subject), MAX_UNCUT_SUBJECT_LENGTH), MAX_SUBJECT_LENGTH));
  const nameWord = name === undefined ? undefined : headerWord(name, boundary, 'from');
  const subjectWord = headerWord(subject, boundary, 'subject');
  const message = new MailComposer({
    from: name === undefined ? from : { name: nameWord?.placeholder ?? name, address: from },
    to: toHeader,
    ...(parts.replyTo === undefined ? {} : { replyTo: requireAddress(parts.replyTo, 'owner') }),
    subject: subjectWord?.placeholder ?? subject,
    messageId,
    date: parts.date,
    headers: {
      'X-Docket-Run': oneLine(parts.run),
      'List-Id': buildListId(parts.list, from),
      // RFC 3834: suppresses automatic replies.
      'Auto-Submitted': 'auto-generated',
    },
    text: parts.text,
    ...(parts.html === undefined ? {} : { html: parts.html }),
    attachments: [
      ...pictures.map(({ cid, name }, index) => ({
        cid,
        filename: name,
        contentType: 'image/png',
        contentDisposition: 'inline' as const,
        content: buildPlaceholder(boundary, index),
      })),
      ...parts.attachments.map(({ name, mediaType }, index) => ({
        filename: headerText(name),
        contentType: mediaType,
        contentTransferEncoding: 'base64' as const,
        content: buildPlaceholder(boundary, pictures.length + index),
      })),
    ],
    baseBoundary: boundary,
    newline: 'win',
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const { encode = encodeBase64 } = parts;
  const files = [
    ...pictures.map(({ bytes }) => encode(bytes)),
    ...parts.attachments.map((each) => encode(each.content)),
  ];
  const words = [nameWord, subjectWord].flatMap((word) => word ?? []);
  const headed = withHeaderWords(await message.compile().build(), words, encodeWord);
  const built = withFiles(headed, boundary, files);
  const raw = parts.dkim === undefined ? built : await signMessage(built, parts.dkim);
  return Object.freeze({ messageId, envelope: Object.freeze({ from, to }), raw, boundary });
}
