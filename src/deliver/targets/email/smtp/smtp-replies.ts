import { z } from 'zod';
import type { Redact } from '../../../../base/secrets/redactor.ts';
import { oneLine } from '../../../../base/text/bidi.ts';

/** What became of one message to one recipient. */
export type SendResult =
  /** The server took responsibility for the message. */
  | { readonly kind: 'accepted'; readonly response: string }
  /** A definite no to this message or its recipient: sending it again cannot help. */
  | { readonly kind: 'refused'; readonly response: string }
  /**
   * Certainly not accepted: a definite "later", or a failure before the message was wholly consumed. Safe to retry.
   * `server`: the mail server itself cannot be used now, so other messages need not try.
   */
  | { readonly kind: 'deferred'; readonly response: string; readonly server: boolean }
  /** The message may have been accepted. Never sent again automatically. */
  | { readonly kind: 'unknown'; readonly why: string };

/** What nodemailer tells of a failure; each field may be missing. */
export interface SmtpFailure {
  readonly message: string;
  /** nodemailer's class of failure, e.g. `EENVELOPE`, `EMESSAGE`, `ECONNECTION`. */
  readonly code?: string | undefined;
  /** The step it happened at, e.g. `MAIL FROM`; `CONN` for the connection. */
  readonly command?: string | undefined;
  readonly response?: string | undefined;
  readonly responseCode?: number | undefined;
}

/** The steps that are about the message; a 5xx at an earlier one is about the session (greeting, EHLO, TLS, AUTH). */
const MESSAGE_STEPS: ReadonlySet<string> = new Set(['MAIL FROM', 'RCPT TO', 'DATA']);

/** RFC 4954 §6: who we are is refused, not what we send. Whoever corrects the password wants these sent after all. */
const AUTHENTICATION_CODES: ReadonlySet<number> = new Set([530, 534, 535, 538]);

/** RFC 5321 §3.8: the server shuts down. After the dot it says nothing certain of the message. */
const SERVICE_CLOSING = 421;

/**
 * Reads a failure as cautiously as SMTP demands.
 *
 * | when                                             | reply                       | result   |
 * |--------------------------------------------------|-----------------------------|----------|
 * | connecting, greeting, EHLO, STARTTLS, AUTH       | any, or none                | deferred |
 * | MAIL, RCPT, DATA, amid the body                  | 5xx (not 530 534 535 538)   | refused  |
 * | MAIL, RCPT, DATA, amid the body                  | 4xx, broken or no reply     | deferred |
 * | after the dot may have left                      | 5xx                         | refused  |
 * | after the dot may have left                      | 4xx except 421              | deferred |
 * | after the dot may have left                      | 421, broken or no reply     | unknown  |
 * | after the dot may have left                      | 2xx but 250, 251; 1xx, 3xx  | unknown  |
 *
 * A reply whose lines have several codes is a broken one, as is one that agrees with a code of another step
 * (`smtp-reply.ts`): only 250 and 251 accept a message.
 *
 * @param redact takes our secrets out of what the server said
 * @param consumed whether the end of our message was handed to the connection: only then may its final dot have left
 */
export function classifyFailure(
  failure: SmtpFailure,
  consumed: boolean,
  redact: Redact,
): Exclude<SendResult, { kind: 'accepted' }> {
  const { command = '', responseCode = 0 } = failure;
  const said = oneLine(redact(failure.response ?? failure.message));
  const permanent = responseCode >= 500 && responseCode <= 599;
  const temporary = responseCode >= 400 && responseCode <= 499;
  if (consumed) {
    // Only a whole reply to DATA speaks of the message. An unfinished one comes as a failure of the connection.
    const definite = failure.code === 'EMESSAGE' && command === 'DATA' && responseCode !== SERVICE_CLOSING;
    if (definite && permanent) return { kind: 'refused', response: said };
    if (definite && temporary) return { kind: 'deferred', response: said, server: false };
    return { kind: 'unknown', why: `No certain answer after the message had left: ${said}` };
  }
  const aboutMessage = MESSAGE_STEPS.has(command);
  if (aboutMessage && permanent && !AUTHENTICATION_CODES.has(responseCode)) return { kind: 'refused', response: said };
  // nodemailer itself refuses a message that is larger than the SIZE the server announced.
  if (failure.code === 'EMESSAGE' && responseCode === 0) return { kind: 'refused', response: said };
  const server = !aboutMessage || responseCode === SERVICE_CLOSING || AUTHENTICATION_CODES.has(responseCode);
  return { kind: 'deferred', response: said, server };
}

/** A logger as nodemailer takes it: what it says at other levels is no traffic. */
interface TransactionLog {
  debug(entry: unknown, text: unknown): void;
  info(): void;
}
const entrySchema = z.object({ tnx: z.enum(['client', 'server']) });

/** RFC 5321 §4.2: three digits, then a space and a text, or nothing; a hyphen where another line follows. */
const REPLY_LINE = /^([1-9]\d\d)(?:([ -])|$)/;

/** The code of a reply (RFC 5321 §4.2.1: the same on every line); undefined where lines differ, are missing or malformed. */
export function parseReplyCode(reply: string): number | undefined {
  const lines = reply.split(/\r?\n/).map((line) => REPLY_LINE.exec(line));
  const [first] = lines;
  const whole = lines.every((line, at) => line?.[1] === first?.[1] && (line?.[2] === '-') === at < lines.length - 1);
  return whole && first?.[1] !== undefined ? Number(first[1]) : undefined;
}

/**
 * What a server may answer a step with when it agrees (RFC 5321 §4.3.2). nodemailer takes any 2xx, so that a proxy whose
 * connection behind it was replaced (220), or replies that are one behind, would pass for the server's word.
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
  // What refuses is nodemailer's to read, with its step and code.
  return code !== undefined && (code >= 400 || (EXPECTED_CODES[step] ?? [code]).includes(code));
}

/** The names that failures of nodemailer have for these steps. */
const STEP_NAMES: Readonly<Record<string, string>> = {
  MAIL: 'MAIL FROM',
  RCPT: 'RCPT TO',
  dot: 'DATA',
  greeting: 'CONN',
};

/**
 * A transaction log for nodemailer that compares each reply with the command it answers, before nodemailer goes by it.
 * Of commands it sees the verb alone, and it keeps nothing else.
 * @param refuse told of a reply that is not one; closes the connection, so that nothing follows from the reply
 */
export function replyChecker(refuse: (failure: SmtpFailure) => void): TransactionLog {
  const unanswered: string[] = [];
  let greeted = false;
  const debug: TransactionLog['debug'] = (entry, text) => {
    const traffic = entrySchema.safeParse(entry).data?.tnx;
    if (traffic === 'client') unanswered.push(String(text).split(/[ :]/)[0] ?? '');
    if (traffic !== 'server') return;
    // The greeting and the reply to the final dot answer no command.
    const step = greeted ? (unanswered.shift() ?? 'dot') : 'greeting';
    greeted = true;
    const response = String(text);
    if (isExpected(step, response)) return;
    const command = STEP_NAMES[step] ?? step;
    refuse({ message: `Unexpected reply to ${command}: ${response}`, code: 'EPROTOCOL', command });
  };
  const info = (): void => {};
  return { debug, info };
}
