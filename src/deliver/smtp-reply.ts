import { z } from 'zod';
import type { SmtpFailure } from './smtp-verdict.ts';

/** A logger as nodemailer takes it: what it says at other levels is no traffic. */
interface TransactionLog {
  debug(entry: unknown, text: unknown): void;
  info(): void;
}
const entrySchema = z.object({ tnx: z.enum(['client', 'server']) });

/** RFC 5321 §4.2: three digits, then a space and a text, or nothing; a hyphen where another line follows. */
const REPLY_LINE = /^([1-9]\d\d)(?:([ -])|$)/;

/** The code of a reply (RFC 5321 §4.2.1: the same on every line); undefined where lines differ, are missing or malformed. */
export function replyCode(reply: string): number | undefined {
  const lines = reply.split(/\r?\n/).map((line) => REPLY_LINE.exec(line));
  const [first] = lines;
  const whole = lines.every((line, at) => line?.[1] === first?.[1] && (line?.[2] === '-') === at < lines.length - 1);
  return whole && first?.[1] !== undefined ? Number(first[1]) : undefined;
}

/**
 * What a server may answer a step with when it agrees (RFC 5321 §4.3.2). nodemailer takes any 2xx, so that a proxy whose
 * connection behind it was replaced (220), or replies that are one behind, would pass for the server's word.
 */
const AGREED: Readonly<Record<string, readonly number[]>> = {
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
  const code = replyCode(reply);
  // What refuses is nodemailer's to read, with its step and code.
  return code !== undefined && (code >= 400 || (AGREED[step] ?? [code]).includes(code));
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
export function checkReplies(refuse: (failure: SmtpFailure) => void): TransactionLog {
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
