import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { Redact } from '../../../../base/secrets/redactor.ts';
import type { Secret } from '../../../../base/secrets/secret.ts';
import { oneLine } from '../../../../base/text/bidi.ts';
import { type Fence, NotConfirmedError, noFence } from '../../../internal/fence.ts';
import {
  connectAndAuthenticate,
  createSmtpSession,
  replyRedactor,
  SMTP_TIMEOUTS_MS,
  type SmtpOptions,
  type SmtpSession,
  smtpPool,
} from './smtp-connection.ts';
import { classifyFailure, type SendResult, type SmtpFailure } from './smtp-replies.ts';
import { parseSmtpUrl, type SmtpServer } from './smtp-url.ts';

export type { SmtpOptions } from './smtp-connection.ts';
export type { SendResult } from './smtp-replies.ts';

/** One recipient per envelope, so that a message is accepted or refused as a whole. */
export interface Envelope {
  readonly from: string;
  readonly to: string;
}

export interface AnnouncedSize {
  /** The server's limit for a message, in bytes; absent if it announces none. */
  readonly size?: number | undefined;
  readonly failure?: SendResult;
}

/** Sends exact bytes. Failures of the server and the network are results, not exceptions. */
export interface Mailer {
  /**
   * Set if the mailer honours the fence: `send` may then be called before the attempt is recorded, otherwise only
   * after.
   */
  readonly confirmsFirst?: true;
  /**
   * @param raw the whole MIME message
   * @param signal cancels the attempt until the message is completely sent. After that the reply is awaited: without it
   * the delivery would be `unknown`
   * @param fence confirmed before the body and before the DATA terminator; if it rejects, nothing was sent
   */
  send(envelope: Envelope, raw: Uint8Array, signal: AbortSignal, fence?: Fence): Promise<SendResult>;
  /**
   * Connects, reads the server's size limit, and keeps the connection for the next message. If it fails, the next
   * message reports the failure.
   */
  announcedSize?(): Promise<AnnouncedSize>;
  close(): Promise<void>;
}

/** A mailer over SMTP with pooled connections. */
export interface SmtpMailer extends Mailer {
  /**
   * Closes idle connections and stops pooling, because another mailer replaces this one. Running transactions continue;
   * later ones open their own connection. Resolves when no transaction is running.
   */
  drain(): Promise<void>;
}

const toSmtpFailure = (error: unknown): SmtpFailure =>
  error instanceof Error ? error : { message: String(error), code: 'EUNKNOWN' };

/**
 * Creates a mailer over SMTP. A connection is reused after an accepted message and closed after any other result. It
 * does not use nodemailer's pool, which may send a message twice: it sends again when a connection closes early. URL:
 * `smtp://` (STARTTLS) or `smtps://` (implicit TLS), see `parseSmtpUrl`. Throws `config.invalid` for an invalid URL,
 * without repeating it.
 */
export function smtpMailer(url: Secret, options: SmtpOptions = {}): SmtpMailer {
  const server = parseSmtpUrl(url, options.oauth2 !== undefined);
  const redact = replyRedactor(url, options);
  const pool = smtpPool(options);
  const active = new Set<SmtpSession>();
  let onIdle: (() => void) | undefined;

  const sendOver = async (session: SmtpSession, isOpen: boolean, mail: OutgoingMail, signal: AbortSignal) => {
    active.add(session);
    const result = await runTransaction(session, isOpen, server, options, mail, signal, redact);
    active.delete(session);
    if (result.kind === 'accepted') {
      session.messageCount += 1;
      pool.release(session);
    }
    if (active.size === 0) onIdle?.();
    return result;
  };
  return {
    confirmsFirst: true,
    send: async (envelope, raw, signal, fence = noFence) => {
      const mail = { envelope, raw, fence };
      const pooled = await pool.acquire();
      if (pooled !== undefined) {
        const isUsed = pooled.messageCount > 0;
        const result = await sendOver(pooled, true, mail, signal);
        // A pooled connection broke: the server did not fail and the message was not sent. Try a new connection.
        if (!isUsed || result.kind !== 'deferred' || !result.server || signal.aborted) return result;
      }
      return sendOver(createSmtpSession(server, options), false, mail, signal);
    },
    announcedSize: async () => {
      const pooled = await pool.acquire();
      const session = pooled ?? createSmtpSession(server, options);
      active.add(session);
      const error = pooled === undefined ? await openSession(session, server, options) : undefined;
      active.delete(session);
      const size = session.announcedSize();
      if (error === undefined) pool.release(session);
      else session.close();
      if (active.size === 0) onIdle?.();
      return error === undefined ? { size } : { failure: classifyFailure(toSmtpFailure(error), false, redact) };
    },
    drain: async () => {
      pool.close();
      if (active.size > 0) await new Promise<void>((resolve) => (onIdle = resolve));
    },
    close: async () => {
      pool.close();
      for (const session of active) session.close();
    },
  };
}

/** Connects and logs in. Resolves with the error if that fails. */
const openSession = (session: SmtpSession, server: SmtpServer, options: SmtpOptions): Promise<unknown> =>
  new Promise((resolve) => {
    const totalMs = options.timeouts?.total ?? SMTP_TIMEOUTS_MS.total;
    const timer = setTimeout(() => settle(new Error(`Timed out after ${totalMs} ms`)), totalMs);
    const settle = (error?: unknown): void => {
      clearTimeout(timer);
      session.setListener(undefined);
      resolve(error);
    };
    session.setListener(settle);
    connectAndAuthenticate(session.connection, server, options, (error) => settle(error ?? undefined));
  });

interface OutgoingMail {
  readonly envelope: Envelope;
  readonly raw: Uint8Array;
  readonly fence: Fence;
}

/** Sends one message and awaits the reply. Resolves exactly once, with nodemailer's first event. */
function runTransaction(
  session: SmtpSession,
  isOpen: boolean,
  server: SmtpServer,
  options: SmtpOptions,
  { envelope, raw, fence }: OutgoingMail,
  signal: AbortSignal,
  redact: Redact,
): Promise<SendResult> {
  const totalMs = options.timeouts?.total ?? SMTP_TIMEOUTS_MS.total;
  return new Promise((resolve) => {
    /** Whether the DATA terminator may have been sent. */
    let isConsumed = false;
    let isSettled = false;
    const settle = (result: SendResult): void => {
      isSettled = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', cancel);
      session.setListener(undefined);
      // Closes synchronously: until the connection is closed, the DATA terminator could still be sent.
      if (result.kind !== 'accepted') session.close();
      resolve(result);
    };
    const onError = (error: unknown): void => {
      if (error instanceof NotConfirmedError)
        settle({ kind: 'deferred', response: oneLine(error.message), server: false });
      else settle(classifyFailure(toSmtpFailure(error), isConsumed, redact));
    };
    const cancel = (): void => {
      if (!isConsumed) onError(new Error('Cancelled before the message was sent'));
    };
    const timer = setTimeout(() => onError(new Error(`Timed out after ${totalMs} ms`)), totalMs);

    const message = bodyStream(raw, {
      fence,
      // A function, because STARTTLS replaces the socket.
      socket: () => session.connection._socket,
      isClosed: () => isSettled,
      onEnd: () => {
        isConsumed = true;
      },
      onError,
    });

    session.setListener(onError);
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) return cancel();

    const send = (): void =>
      session.connection.send({ from: envelope.from, to: [envelope.to], size: raw.length }, message, (error, info) => {
        if (error) return onError(error);
        const response = oneLine(redact(info?.response ?? ''));
        if (info?.rejected.length) return onError(new Error(`The recipient was rejected: ${response}`));
        // A 250 before the DATA terminator belongs to something else, so the message may or may not be accepted.
        if (!isConsumed) return settle({ kind: 'unknown', why: `Reply before the end of the message: ${response}` });
        settle({ kind: 'accepted', response });
      });
    if (isOpen) send();
    else connectAndAuthenticate(session.connection, server, options, (error) => (error ? onError(error) : send()));
  });
}

const BODY_CHUNK_BYTES = 64 * 1024;

interface BodyHooks {
  readonly fence: Fence;
  /** The current socket. */
  readonly socket: () => Pick<Socket, 'write'> | false | null;
  /** Whether the transaction has ended: nothing more may be written then. */
  readonly isClosed: () => boolean;
  /** Called right before the DATA terminator is written. */
  readonly onEnd: () => void;
  readonly onError: (error: unknown) => void;
}

/**
 * The message as a stream, which nodemailer pipes after reply 354. Nothing is written before the fence confirms. The
 * DATA terminator is a separate write, after the body has gone to the operating system and the fence has confirmed
 * again: a process that was frozen in between cannot complete a message.
 */
function bodyStream(raw: Uint8Array, hooks: BodyHooks): Readable {
  const body = new Readable({ read: () => {} });
  const pipe = <T extends NodeJS.WritableStream>(to: T): T => {
    writeBody(raw, to, hooks).catch(hooks.onError);
    return to;
  };
  return Object.assign(body, { pipe });
}

/**
 * Writes the body without nodemailer's encoder, which would process each byte.
 * @param encoder `end()` writes the last line break and the DATA terminator
 */
async function writeBody(
  raw: Uint8Array,
  encoder: NodeJS.WritableStream,
  { fence, socket, isClosed, onEnd }: BodyHooks,
): Promise<void> {
  await fence.confirm();
  const body = transparentBody(raw);
  for (let at = 0; at < body.length; at += BODY_CHUNK_BYTES) {
    await fence.confirmIfStale();
    if (isClosed()) return;
    await flush(body.subarray(at, at + BODY_CHUNK_BYTES), socket());
  }
  await fence.confirm();
  if (isClosed()) return;
  onEnd();
  encoder.end();
}

/** Resolves when the operating system has the bytes, or when the connection has reported why not. */
async function flush(bytes: Uint8Array, socket: ReturnType<BodyHooks['socket']>): Promise<void> {
  const isFlushed = await new Promise<boolean>((resolve) => {
    if (socket) socket.write(bytes, (error) => resolve(!error));
    else resolve(false);
  });
  if (!isFlushed) await setImmediate();
}

const CR = 0x0d;
const LF = 0x0a;
const DOT = Buffer.from('.');

/** Positions of lines that begin with a dot, ascending; undefined if a line break is not CRLF. */
function leadingDots(bytes: Buffer): readonly number[] | undefined {
  const found: number[] = [];
  for (let line = 0; ; ) {
    if (bytes[line] === DOT[0]) found.push(line);
    const [cr, lf] = [bytes.indexOf(CR, line), bytes.indexOf(LF, line)];
    if (cr < 0 && lf < 0) return found;
    if (cr < 0 || cr !== lf - 1) return undefined;
    line = lf + 1;
  }
}

/**
 * A message as sent in DATA (RFC 5321 §4.5.2): all line breaks are CRLF, and a leading dot is doubled. Leaves out the
 * last line break, which belongs to the DATA terminator.
 */
export function transparentBody(raw: Uint8Array): Uint8Array {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.length);
  const dots = leadingDots(bytes);
  if (dots === undefined)
    return transparentBody(Buffer.from(bytes.toString('latin1').replace(/\r\n|\r|\n/g, '\r\n'), 'latin1'));
  const end = bytes.at(-1) === LF ? bytes.length - 2 : bytes.length;
  if (dots.length === 0) return bytes.subarray(0, end);
  const parts = [0, ...dots].map((start, index) => bytes.subarray(start, dots[index] ?? end));
  return Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [DOT, part])));
}
