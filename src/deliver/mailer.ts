import { Readable } from 'node:stream';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { Secret } from '../base/secret.ts';
import { oneLine } from './one-line.ts';
import { readSmtpUrl, type SmtpServer } from './smtp-url.ts';
import { readFailure, type SendResult, type SmtpFailure } from './smtp-verdict.ts';

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
   */
  send(envelope: Envelope, raw: Uint8Array, signal: AbortSignal): Promise<SendResult>;
  close(): Promise<void>;
}

export interface SmtpOptions {
  /** How we name ourselves in EHLO; the host's name by default. */
  readonly name?: string;
  /** PEM certificates to trust instead of the system's own. */
  readonly ca?: string;
  /** Milliseconds. They bound an attempt, so that it ends while the worker still holds its run. */
  readonly timeouts?: Partial<SmtpTimeouts>;
}

export interface SmtpTimeouts {
  /** DNS, TCP, TLS and the greeting together. */
  readonly connect: number;
  /** Silence of the server at any later step, the answer to the message included. */
  readonly silence: number;
  /** The whole attempt, for a server that trickles. */
  readonly total: number;
}

const TIMEOUTS: SmtpTimeouts = { connect: 10_000, silence: 60_000, total: 180_000 };
const CHUNK = 16 * 1024;

/** The message as a stream that reads no further ahead than it must: `end` is emitted just before the dot may leave. */
function messageStream(raw: Uint8Array): Readable {
  let at = 0;
  return new Readable({
    highWaterMark: CHUNK,
    read() {
      this.push(at < raw.length ? raw.subarray(at, at + CHUNK) : null);
      at += CHUNK;
    },
  });
}

const asFailure = (error: unknown): SmtpFailure =>
  error instanceof Error ? error : { message: String(error), code: 'EUNKNOWN' };

/**
 * A mailer over SMTP: one connection a message, no pool (a pool queues a message again when a connection closes early)
 * and no retries of its own. URL: `smtp://` (STARTTLS) or `smtps://` (TLS from the start), see `readSmtpUrl`.
 * Throws `config.invalid` for a URL it cannot read, without repeating it.
 */
export function smtpMailer(url: Secret, options: SmtpOptions = {}): Mailer {
  const server = readSmtpUrl(url);
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
  const open = new Set<SMTPConnection>();
  return {
    send: (envelope, raw, signal) => {
      const connection = connect(server, options, timeouts);
      open.add(connection);
      return converse(connection, server, envelope, raw, signal, timeouts.total).finally(() => open.delete(connection));
    },
    close: async () => {
      for (const connection of open) connection.close();
    },
  };
}

function connect(server: SmtpServer, options: SmtpOptions, timeouts: SmtpTimeouts): SMTPConnection {
  return new SMTPConnection({
    host: server.host,
    port: server.port,
    secure: server.secure,
    requireTLS: server.tls === 'required' && !server.secure,
    ignoreTLS: server.tls === 'off',
    connectionTimeout: timeouts.connect,
    greetingTimeout: timeouts.connect,
    dnsTimeout: timeouts.connect,
    socketTimeout: timeouts.silence,
    socketCloseTimeout: 1_000,
    maxResponseSize: 64 * 1024,
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.ca === undefined ? {} : { tls: { ca: options.ca } }),
  });
}

/** One conversation from greeting to answer. Resolves exactly once, whichever of nodemailer's signs comes first. */
function converse(
  connection: SMTPConnection,
  server: SmtpServer,
  envelope: Envelope,
  raw: Uint8Array,
  signal: AbortSignal,
  totalMs: number,
): Promise<SendResult> {
  return new Promise((resolve) => {
    const message = messageStream(raw);
    let consumed = false;
    // Registered before nodemailer pipes the stream, so it comes before the pipe's own `end`, which writes the dot.
    message.once('end', () => {
      consumed = true;
    });

    const settle = (result: SendResult): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      // At once, not when the promise is heard: until the connection is closed the dot could still leave.
      connection.close();
      resolve(result);
    };
    const failed = (error: unknown): void => settle(readFailure(asFailure(error), consumed));
    const stop = (): void => {
      if (!consumed) failed(new Error('Stopped before the message had left'));
    };
    const timer = setTimeout(() => failed(new Error(`No end after ${totalMs} ms`)), totalMs);

    // The listener stays for good: nodemailer may emit a late `error`, which without a listener ends the process.
    connection.on('error', failed);
    // A connection that ends without an error: every callback that knows more comes in the same turn.
    connection.once('end', () => setImmediate(failed, new Error('Connection closed unexpectedly')));
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) return stop();

    const send = (): void =>
      connection.send({ from: envelope.from, to: [envelope.to], size: raw.length }, message, (error, info) => {
        if (error) return failed(error);
        const response = oneLine(info?.response ?? '');
        if (info?.rejected.length) return failed(new Error(`The recipient was rejected: ${response}`));
        // A "250" amid the message is an answer to something else; what the server made of it nobody knows.
        if (!consumed) return settle({ kind: 'unknown', why: `Answered before the message had ended: ${response}` });
        settle({ kind: 'accepted', response });
      });
    connection.connect((error) => {
      if (error) return failed(error);
      const { user, pass } = server;
      if (user === undefined) return send();
      connection.login({ credentials: { user, pass: pass?.reveal() ?? '' } }, (refused) =>
        refused ? failed(refused) : send(),
      );
    });
  });
}
