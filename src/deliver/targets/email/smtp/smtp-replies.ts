import { z } from 'zod';
import { withCertificateAdvice } from '../../../../base/net/certificate-error.ts';
import type { Redact } from '../../../../base/secrets/redactor.ts';
import { oneLine } from '../../../../base/text/bidi.ts';

/** The result of sending one message to one recipient. */
export type SendResult =
  /** The server took responsibility for the message. */
  | { readonly kind: 'accepted'; readonly response: string }
  /** A definite refusal of the message or recipient: retrying cannot help. */
  | { readonly kind: 'refused'; readonly response: string }
  /**
   * The message was certainly not accepted, after a temporary refusal or a failure before the end of the message. Safe
   * to retry. `server`: the mail server itself fails, so skip other messages.
   */
  | { readonly kind: 'deferred'; readonly response: string; readonly server: boolean }
  /** The message may have been accepted. Never sent again automatically. */
  | { readonly kind: 'unknown'; readonly why: string };

/** An error from nodemailer. Each field may be missing. */
export interface SmtpFailure {
  readonly message: string;
  /** E.g. `EENVELOPE`, `EMESSAGE`, `ECONNECTION`. */
  readonly code?: string | undefined;
  /** The failed step, e.g. `MAIL FROM`; `CONN` for the connection. */
  readonly command?: string | undefined;
  readonly response?: string | undefined;
  readonly responseCode?: number | undefined;
}

/** Steps that concern the message. A 5xx at an earlier step (greeting, EHLO, TLS, AUTH) concerns the session. */
const MESSAGE_STEPS: ReadonlySet<string> = new Set(['MAIL FROM', 'RCPT TO', 'DATA']);

/** RFC 4954 §6: the login is refused, not the message. The message is sent once the password is corrected. */
const AUTHENTICATION_CODES: ReadonlySet<number> = new Set([530, 534, 535, 538]);

/** RFC 5321 §3.8: the server shuts down. After the DATA terminator, the result is then unknown. */
const SERVICE_CLOSING = 421;

/**
 * Classifies a failure. Only a reply that is certain about the message makes it `refused` or `deferred`.
 *
 * | when                                             | reply                       | result   |
 * |--------------------------------------------------|-----------------------------|----------|
 * | connecting, greeting, EHLO, STARTTLS, AUTH       | any, or none                | deferred |
 * | MAIL, RCPT, DATA, during the body                | 5xx (not 530 534 535 538)   | refused  |
 * | MAIL, RCPT, DATA, during the body                | 4xx, invalid or no reply    | deferred |
 * | after the DATA terminator may have been sent     | 5xx                         | refused  |
 * | after the DATA terminator may have been sent     | 4xx except 421              | deferred |
 * | after the DATA terminator may have been sent     | 421, invalid or no reply    | unknown  |
 * | after the DATA terminator may have been sent     | 2xx but 250, 251; 1xx, 3xx  | unknown  |
 *
 * A reply with different codes on its lines is invalid, and so is a positive code that belongs to another step
 * (`replyChecker`): only 250 and 251 accept a message.
 *
 * @param redact removes secrets from the reply
 * @param consumed whether the DATA terminator was written to the connection, and so may have been sent
 */
export function classifyFailure(
  failure: SmtpFailure,
  consumed: boolean,
  redact: Redact,
): Exclude<SendResult, { kind: 'accepted' }> {
  const { command = '', responseCode = 0 } = failure;
  const response = oneLine(redact(failure.response ?? withCertificateAdvice(failure.message)));
  const permanent = responseCode >= 500 && responseCode <= 599;
  const temporary = responseCode >= 400 && responseCode <= 499;
  if (consumed) {
    // Only a complete reply to DATA concerns the message. An incomplete reply is reported as a connection error.
    const definite = failure.code === 'EMESSAGE' && command === 'DATA' && responseCode !== SERVICE_CLOSING;
    if (definite && permanent) return { kind: 'refused', response };
    if (definite && temporary) return { kind: 'deferred', response, server: false };
    return { kind: 'unknown', why: `No certain reply after the message was sent: ${response}` };
  }
  const aboutMessage = MESSAGE_STEPS.has(command);
  if (aboutMessage && permanent && !AUTHENTICATION_CODES.has(responseCode)) return { kind: 'refused', response };
  // nodemailer refuses a message larger than the SIZE that the server announced.
  if (failure.code === 'EMESSAGE' && responseCode === 0) return { kind: 'refused', response };
  const server = !aboutMessage || responseCode === SERVICE_CLOSING || AUTHENTICATION_CODES.has(responseCode);
  return { kind: 'deferred', response, server };
}

/** A logger for nodemailer, which logs the SMTP traffic at level debug. */
interface TransactionLog {
  debug(entry: unknown, text: unknown): void;
  info(): void;
}
const entrySchema = z.object({ tnx: z.enum(['client', 'server']) });

/** RFC 5321 §4.2: three digits, then nothing, a space and text, or a hyphen before another line. */
const REPLY_LINE = /^([1-9]\d\d)(?:([ -])|$)/;

/** The code of a reply (RFC 5321 §4.2.1: the same on every line); undefined for an invalid reply. */
export function parseReplyCode(reply: string): number | undefined {
  const lines = reply.split(/\r?\n/).map((line) => REPLY_LINE.exec(line));
  const [first] = lines;
  const isValid = lines.every(
    (line, index) => line?.[1] === first?.[1] && (line?.[2] === '-') === index < lines.length - 1,
  );
  return isValid && first?.[1] !== undefined ? Number(first[1]) : undefined;
}

/**
 * The positive reply codes of each step (RFC 5321 §4.3.2). nodemailer accepts any 2xx: the greeting (220) of a connection
 * that a proxy has replaced, or a reply to an earlier command, would count as success.
 */
const EXPECTED_CODES: Readonly<Record<string, readonly number[]>> = {
  greeting: [220],
  EHLO: [250],
  HELO: [250],
  STARTTLS: [220],
  MAIL: [250],
  RCPT: [250, 251],
  DATA: [354],
  dot: [250, 251],
  RSET: [250],
};

function isExpected(step: string, reply: string): boolean {
  const code = parseReplyCode(reply);
  // nodemailer handles negative replies itself.
  return code !== undefined && (code >= 400 || (EXPECTED_CODES[step] ?? [code]).includes(code));
}

/** nodemailer's names for these steps in errors. */
const STEP_NAMES: Readonly<Record<string, string>> = {
  MAIL: 'MAIL FROM',
  RCPT: 'RCPT TO',
  dot: 'DATA',
  greeting: 'CONN',
};

/**
 * A transaction log for nodemailer that compares each reply with its command, before nodemailer uses it. Stores only
 * the verbs of commands.
 * @param onInvalid called for an invalid reply. It must close the connection, so that nodemailer ignores the reply
 */
export function replyChecker(onInvalid: (failure: SmtpFailure) => void): TransactionLog {
  const unanswered: string[] = [];
  let isGreeted = false;
  const debug: TransactionLog['debug'] = (entry, text) => {
    const sender = entrySchema.safeParse(entry).data?.tnx;
    if (sender === 'client') unanswered.push(String(text).split(/[ :]/)[0] ?? '');
    if (sender !== 'server') return;
    // The greeting and the reply to the DATA terminator belong to no command.
    const step = isGreeted ? (unanswered.shift() ?? 'dot') : 'greeting';
    isGreeted = true;
    const response = String(text);
    if (isExpected(step, response)) return;
    const command = STEP_NAMES[step] ?? step;
    onInvalid({ message: `Unexpected reply to ${command}: ${response}`, code: 'EPROTOCOL', command });
  };
  const info = (): void => {};
  return { debug, info };
}
