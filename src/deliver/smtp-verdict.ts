import type { Redact } from '../base/redactor.ts';
import { oneLine } from './one-line.ts';

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
const CLOSING = 421;

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
export function readFailure(
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
    const definite = failure.code === 'EMESSAGE' && command === 'DATA' && responseCode !== CLOSING;
    if (definite && permanent) return { kind: 'refused', response: said };
    if (definite && temporary) return { kind: 'deferred', response: said, server: false };
    return { kind: 'unknown', why: `No certain answer after the message had left: ${said}` };
  }
  const aboutMessage = MESSAGE_STEPS.has(command);
  if (aboutMessage && permanent && !AUTHENTICATION_CODES.has(responseCode)) return { kind: 'refused', response: said };
  // nodemailer itself refuses a message that is larger than the SIZE the server announced.
  if (failure.code === 'EMESSAGE' && responseCode === 0) return { kind: 'refused', response: said };
  const server = !aboutMessage || responseCode === CLOSING || AUTHENTICATION_CODES.has(responseCode);
  return { kind: 'deferred', response: said, server };
}
