import type { Redact } from '../base/redactor.ts';
import type { Secret } from '../base/secret.ts';
import { type Fence, NotConfirmed, noFence } from './fence.ts';
import { oneLine } from './one-line.ts';
import { messageBody } from './smtp-body.ts';
import { type SmtpOptions, smtpText, TIMEOUTS } from './smtp-connection.ts';
import { keptLines, type Line, newLine, openLine } from './smtp-line.ts';
import { readSmtpUrl, type SmtpServer } from './smtp-url.ts';
import { readFailure, type SendResult, type SmtpFailure } from './smtp-verdict.ts';

export type { SmtpOptions } from './smtp-connection.ts';
export type { SendResult } from './smtp-verdict.ts';

/** One recipient an envelope: a message that some of its recipients refuse cannot exist. */
export interface Envelope {
  readonly from: string;
  readonly to: string;
}

/** Sends exact bytes. Never throws for what a server or a network does: that is the result. */
export interface Mailer {
  /**
   * @param raw the whole MIME message
   * @param signal stops an attempt whose message has not wholly left; one that has left waits for its answer, because
   *   giving it up would make it `unknown`
   * @param fence passed right before the body and its final dot leave; what it stops has not been sent
   */
  send(envelope: Envelope, raw: Uint8Array, signal: AbortSignal, fence?: Fence): Promise<SendResult>;
  close(): Promise<void>;
}

/** A mailer over SMTP, which keeps connections. */
export interface SmtpMailer extends Mailer {
  /**
   * Keeps no connection any more, and closes those that are idle: another mailer has taken its place. A message that is
   * under way goes on, and whoever still sends through it opens a connection for each message. Resolves when none is.
   */
  retire(): Promise<void>;
}

const asFailure = (error: unknown): SmtpFailure =>
  error instanceof Error ? error : { message: String(error), code: 'EUNKNOWN' };

/**
 * A mailer over SMTP: a connection is kept for the next message once a message was taken, and closed after anything
 * else. Not nodemailer's pool: that one queues a message again when a connection closes early, and tells nobody whether
 * the message had left by then. URL: `smtp://` (STARTTLS) or `smtps://` (TLS from the start), see `readSmtpUrl`.
 * Throws `config.invalid` for a URL it cannot read, without repeating it.
 */
export function smtpMailer(url: Secret, options: SmtpOptions = {}): SmtpMailer {
  const server = readSmtpUrl(url, options.oauth2 !== undefined);
  const redact = smtpText(url, options);
  const lines = keptLines(options);
  const busy = new Set<Line>();
  let idle: (() => void) | undefined;

  const sendOver = async (line: Line, entered: boolean, mail: Mail, signal: AbortSignal) => {
    busy.add(line);
    const result = await converse(line, entered, server, options, mail, signal, redact);
    busy.delete(line);
    if (result.kind === 'accepted') lines.keep(line);
    if (busy.size === 0) idle?.();
    return result;
  };
  return {
    send: async (envelope, raw, signal, fence = noFence) => {
      const mail = { envelope, raw, fence };
      const kept = await lines.take();
      if (kept !== undefined) {
        const result = await sendOver(kept, true, mail, signal);
        // A connection that broke at its next message says nothing of the server: that message had not left.
        if (result.kind !== 'deferred' || !result.server || signal.aborted) return result;
      }
      return sendOver(newLine(server, options), false, mail, signal);
    },
    retire: async () => {
      lines.close();
      if (busy.size > 0) await new Promise<void>((resolve) => (idle = resolve));
    },
    close: async () => {
      lines.close();
      for (const line of busy) line.close();
    },
  };
}

interface Mail {
  readonly envelope: Envelope;
  readonly raw: Uint8Array;
  readonly fence: Fence;
}

/** One conversation up to the answer. Resolves exactly once, whichever of nodemailer's signs comes first. */
function converse(
  line: Line,
  entered: boolean,
  server: SmtpServer,
  options: SmtpOptions,
  { envelope, raw, fence }: Mail,
  signal: AbortSignal,
  redact: Redact,
): Promise<SendResult> {
  const totalMs = options.timeouts?.total ?? TIMEOUTS.total;
  return new Promise((resolve) => {
    let consumed = false;
    let over = false;
    const settle = (result: SendResult): void => {
      over = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      line.listen(undefined);
      // At once, not when the promise is heard: until the connection is closed the dot could still leave.
      if (result.kind !== 'accepted') line.close();
      resolve(result);
    };
    const failed = (error: unknown): void => {
      if (error instanceof NotConfirmed) settle({ kind: 'deferred', response: oneLine(error.message), server: false });
      else settle(readFailure(asFailure(error), consumed, redact));
    };
    const stop = (): void => {
      if (!consumed) failed(new Error('Stopped before the message had left'));
    };
    const timer = setTimeout(() => failed(new Error(`No end after ${totalMs} ms`)), totalMs);

    const message = messageBody(raw, {
      fence,
      // After STARTTLS it is another one.
      socket: () => line.connection._socket,
      isOver: () => over,
      ends: () => {
        consumed = true;
      },
      failed,
    });

    line.listen({ failed });
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) return stop();

    const send = (): void =>
      line.connection.send({ from: envelope.from, to: [envelope.to], size: raw.length }, message, (error, info) => {
        if (error) return failed(error);
        const response = oneLine(redact(info?.response ?? ''));
        if (info?.rejected.length) return failed(new Error(`The recipient was rejected: ${response}`));
        // A "250" amid the message is an answer to something else; what the server made of it nobody knows.
        if (!consumed) return settle({ kind: 'unknown', why: `Answered before the message had ended: ${response}` });
        settle({ kind: 'accepted', response });
      });
    if (entered) send();
    else openLine(line, server, options, (error) => (error ? failed(error) : send()));
  });
}
