import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { Redact } from '../../../../base/secrets/redactor.ts';
import type { Secret } from '../../../../base/secrets/secret.ts';
import { oneLine } from '../../../../base/text/bidi.ts';
import { type Fence, NotConfirmedError, noFence } from '../../../fence.ts';
import {
  createSmtpSession,
  openSmtpSession,
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
  drain(): Promise<void>;
}

const toSmtpFailure = (error: unknown): SmtpFailure =>
  error instanceof Error ? error : { message: String(error), code: 'EUNKNOWN' };

/**
 * A mailer over SMTP: a connection is kept for the next message once a message was taken, and closed after anything
 * else. Not nodemailer's pool: that one queues a message again when a connection closes early, and tells nobody whether
 * the message had left by then. URL: `smtp://` (STARTTLS) or `smtps://` (TLS from the start), see `readSmtpUrl`.
 * Throws `config.invalid` for a URL it cannot read, without repeating it.
 */
export function smtpMailer(url: Secret, options: SmtpOptions = {}): SmtpMailer {
  const server = parseSmtpUrl(url, options.oauth2 !== undefined);
  const redact = replyRedactor(url, options);
  const lines = smtpPool(options);
  const busy = new Set<SmtpSession>();
  let idle: (() => void) | undefined;

  const sendOver = async (line: SmtpSession, entered: boolean, mail: OutgoingMail, signal: AbortSignal) => {
    busy.add(line);
    const result = await runTransaction(line, entered, server, options, mail, signal, redact);
    busy.delete(line);
    if (result.kind === 'accepted') lines.release(line);
    if (busy.size === 0) idle?.();
    return result;
  };
  return {
    send: async (envelope, raw, signal, fence = noFence) => {
      const mail = { envelope, raw, fence };
      const kept = await lines.acquire();
      if (kept !== undefined) {
        const result = await sendOver(kept, true, mail, signal);
        // A connection that broke at its next message says nothing of the server: that message had not left.
        if (result.kind !== 'deferred' || !result.server || signal.aborted) return result;
      }
      return sendOver(createSmtpSession(server, options), false, mail, signal);
    },
    drain: async () => {
      lines.close();
      if (busy.size > 0) await new Promise<void>((resolve) => (idle = resolve));
    },
    close: async () => {
      lines.close();
      for (const line of busy) line.close();
    },
  };
}

interface OutgoingMail {
  readonly envelope: Envelope;
  readonly raw: Uint8Array;
  readonly fence: Fence;
}

/** One conversation up to the answer. Resolves exactly once, whichever of nodemailer's signs comes first. */
function runTransaction(
  line: SmtpSession,
  entered: boolean,
  server: SmtpServer,
  options: SmtpOptions,
  { envelope, raw, fence }: OutgoingMail,
  signal: AbortSignal,
  redact: Redact,
): Promise<SendResult> {
  const totalMs = options.timeouts?.total ?? SMTP_TIMEOUTS_MS.total;
  return new Promise((resolve) => {
    let consumed = false;
    let over = false;
    const settle = (result: SendResult): void => {
      over = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      line.setListener(undefined);
      // At once, not when the promise is heard: until the connection is closed the dot could still leave.
      if (result.kind !== 'accepted') line.close();
      resolve(result);
    };
    const onError = (error: unknown): void => {
      if (error instanceof NotConfirmedError)
        settle({ kind: 'deferred', response: oneLine(error.message), server: false });
      else settle(classifyFailure(toSmtpFailure(error), consumed, redact));
    };
    const stop = (): void => {
      if (!consumed) onError(new Error('Stopped before the message had left'));
    };
    const timer = setTimeout(() => onError(new Error(`No end after ${totalMs} ms`)), totalMs);

    const message = bodyStream(raw, {
      fence,
      // After STARTTLS it is another one.
      socket: () => line.connection._socket,
      isClosed: () => over,
      onEnd: () => {
        consumed = true;
      },
      onError,
    });

    line.setListener({ failed: onError });
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) return stop();

    const send = (): void =>
      line.connection.send({ from: envelope.from, to: [envelope.to], size: raw.length }, message, (error, info) => {
        if (error) return onError(error);
        const response = oneLine(redact(info?.response ?? ''));
        if (info?.rejected.length) return onError(new Error(`The recipient was rejected: ${response}`));
        // A "250" amid the message is an answer to something else; what the server made of it nobody knows.
        if (!consumed) return settle({ kind: 'unknown', why: `Answered before the message had ended: ${response}` });
        settle({ kind: 'accepted', response });
      });
    if (entered) send();
    else openSmtpSession(line, server, options, (error) => (error ? onError(error) : send()));
  });
}

const BODY_CHUNK_BYTES = 64 * 1024;

/** nodemailer's stream that stuffs dots and hands on to the socket. */
type Encoder = NodeJS.WritableStream & Partial<Pick<Readable, 'readableLength'>>;

export interface BodyHooks {
  readonly fence: Fence;
  /** The connection to the server, as it is by then. */
  readonly socket: () => Pick<Socket, 'write'> | false | null;
  /** Whether the conversation has ended meanwhile: then nothing more is written. */
  readonly isClosed: () => boolean;
  /** Told right before the final dot leaves. */
  readonly onEnd: () => void;
  readonly onError: (error: unknown) => void;
}

/**
 * A message as nodemailer takes it. nodemailer pipes it once the server has let the body through (354). Nothing is written
 * before the fence has confirmed it, and the final dot is a write of its own, made when all before it has left this process
 * and was confirmed once more: what a frozen process wakes up with can then not end a message.
 */
export function bodyStream(raw: Uint8Array, steps: BodyHooks): Readable {
  const body = new Readable({ read: () => {} });
  const pipe = <T extends NodeJS.WritableStream>(to: T): T => {
    writeBody(raw, to, steps).catch(steps.onError);
    return to;
  };
  return Object.assign(body, { pipe });
}

/** @param to encodes what it is given and hands it to the socket; its end is the final dot */
async function writeBody(raw: Uint8Array, to: Encoder, { fence, socket, isClosed, onEnd }: BodyHooks): Promise<void> {
  await fence.confirm();
  for (let at = 0; at < raw.length; at += BODY_CHUNK_BYTES) {
    await fence.confirmIfStale();
    if (isClosed()) return;
    await new Promise<void>((resolve) => to.write(raw.subarray(at, at + BODY_CHUNK_BYTES), () => resolve()));
    await flush(to, socket(), isClosed);
  }
  await fence.confirm();
  if (isClosed()) return;
  onEnd();
  to.end();
}

/** Resolves when the operating system has everything that was handed to the encoder, or the conversation has ended. */
async function flush(to: Encoder, socket: ReturnType<BodyHooks['socket']>, isOver: () => boolean): Promise<void> {
  do {
    // The encoder hands on in a later turn; an empty write is answered when all before it is done.
    await setImmediate();
    if (isOver() || !socket) return;
    await new Promise<void>((resolve) => socket.write('', () => resolve()));
  } while ((to.readableLength ?? 0) > 0);
}
