import SMTPConnection, { type SMTPConnectionCustomAuthHandler } from 'nodemailer/lib/smtp-connection';
import { createRedactor, type Redact, type Redactor, redactUntrusted } from '../../../../base/secrets/redactor.ts';
import type { Secret } from '../../../../base/secrets/secret.ts';
import type { AccessTokens } from './oauth2.ts';
import { replyChecker } from './smtp-replies.ts';
import type { SmtpServer } from './smtp-url.ts';

/** A login by access token instead of a password (XOAUTH2). */
export interface SmtpOAuth2 {
  readonly user: string;
  readonly tokens: AccessTokens;
}

export interface SmtpOptions {
  /** How we name ourselves in EHLO; the host's name by default. */
  readonly name?: string;
  /** PEM certificates to trust instead of the system's own. */
  readonly ca?: string;
  readonly oauth2?: SmtpOAuth2;
  /** Of the process: takes our secrets out of what the server says. One that knows the URL alone when absent. */
  readonly redactor?: Redactor;
  /** Milliseconds. They bound an attempt, so that it ends while the worker still holds its run. */
  readonly timeouts?: Partial<SmtpTimeouts>;
}

export interface SmtpTimeouts {
  /** DNS, TCP, TLS and the greeting together. */
  readonly connect: number;
  /** Silence of the server at any later step, the answer to the message included. */
  readonly inactivity: number;
  /** The whole attempt, for a server that trickles. */
  readonly total: number;
  /** How long a connection is kept for the next message. */
  readonly idle: number;
}

export const SMTP_TIMEOUTS_MS: SmtpTimeouts = { connect: 10_000, inactivity: 60_000, total: 180_000, idle: 10_000 };

/** nodemailer prefers other methods that a server offers to a handler that is called XOAUTH2. */
const CUSTOM_AUTH_METHOD = 'DOCKET-XOAUTH2';
const XOAUTH2 = 'XOAUTH2';
const AUTH_CONTINUE = 334;
const AUTH_SUCCEEDED = 235;

/** What the server says, without our secrets; of several lines as well, before their ends are lost. */
export function replyRedactor(url: Secret, { redactor = createRedactor() }: SmtpOptions): Redact {
  redactor.registerSecret(url.reveal());
  return (said) => redactUntrusted(said, redactor.redact);
}

/** A connection that is not open yet. Whoever gets it listens to `error` for good and closes it. */
export function openConnection(server: SmtpServer, options: SmtpOptions): SMTPConnection {
  const timeouts = { ...SMTP_TIMEOUTS_MS, ...options.timeouts };
  // Like a failure that nodemailer finds by itself: `error`, then closed, so that it does not act on the reply.
  const logger = replyChecker((failure) => {
    connection.emit('error', Object.assign(new Error(failure.message), failure));
    connection.close();
  });
  const connection = new SMTPConnection({
    host: server.host,
    port: server.port,
    secure: server.secure,
    requireTLS: server.tls === 'required' && !server.secure,
    ignoreTLS: server.tls === 'off',
    connectionTimeout: timeouts.connect,
    greetingTimeout: timeouts.connect,
    dnsTimeout: timeouts.connect,
    socketTimeout: timeouts.inactivity,
    socketCloseTimeout: 1_000,
    maxResponseSize: 64 * 1024,
    logger,
    transactionLog: true,
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.ca === undefined ? {} : { tls: { ca: options.ca } }),
    ...(options.oauth2 === undefined
      ? {}
      : { customAuth: { [CUSTOM_AUTH_METHOD]: tokenAuthentication(options.oauth2) } }),
  });
  return connection;
}

/**
 * Connects, greets, starts TLS and logs in. With a user a login is always tried: a server that offers none is not the
 * one that was meant.
 */
export function connectAndAuthenticate(
  connection: SMTPConnection,
  server: SmtpServer,
  { oauth2 }: SmtpOptions,
  then: (error?: Error | null) => void,
): void {
  connection.connect((error) => {
    const { user, pass } = server;
    if (error || (user === undefined && oauth2 === undefined)) return then(error);
    const login =
      oauth2 === undefined
        ? { credentials: { user, pass: pass?.reveal() ?? '' } }
        : { method: CUSTOM_AUTH_METHOD, user: oauth2.user };
    connection.login(login, (refused) => then(refused));
  });
}

/** One login by token, and a second one with a new token where the first was refused: it may have been revoked. */
const tokenAuthentication =
  ({ user, tokens }: SmtpOAuth2): SMTPConnectionCustomAuthHandler =>
  async ({ authMethods, sendCommand }) => {
    if (!authMethods.includes(XOAUTH2)) throw new Error(`The server offers no ${XOAUTH2}`);
    const tried = async (renew: boolean) => {
      const token = await tokens({ renew });
      const answer = Buffer.from(`user=${user}\x01auth=Bearer ${token.reveal()}\x01\x01`).toString('base64');
      const { status, text } = await sendCommand(`AUTH ${XOAUTH2} ${answer}`);
      // The server explains a refusal in a challenge, and says it after an empty answer.
      return status === AUTH_CONTINUE ? await sendCommand('') : { status, text };
    };
    const first = await tried(false);
    if (first.status === AUTH_SUCCEEDED) return;
    const second = await tried(true);
    if (second.status !== AUTH_SUCCEEDED) throw new Error(`The token was refused: ${second.status} ${second.text}`);
  };

/** Who is told what happens on a line; nobody while it is idle. */
interface SessionListener {
  failed(error: unknown): void;
}

/** One connection to a mail server, for one message after the other. */
export interface SmtpSession {
  readonly connection: SMTPConnection;
  /** Messages that it has carried. */
  messageCount: number;
  /** Hears of the connection's failures from now on. */
  setListener(listener: SessionListener | undefined): void;
  close(): void;
}

/** Ms in which a kept connection must answer, or a new one is opened. */
const RESET_TIMEOUT_MS = 5_000;
/** Servers take a connection that brings ever more for abuse. */
const MAX_MESSAGES_PER_CONNECTION = 100;

/** A line that is not open yet. Its failures come to the listener once each, whichever of nodemailer's signs comes first. */
export function createSmtpSession(server: SmtpServer, options: SmtpOptions): SmtpSession {
  const connection = openConnection(server, options);
  let listener: SessionListener | undefined;
  // The listener stays for good: nodemailer may emit a late `error`, which without a listener ends the process.
  connection.on('error', (error) => listener?.failed(error));
  // A connection that ends without an error: every callback that knows more comes in the same turn.
  connection.once('end', () => setImmediate(() => listener?.failed(new Error('Connection closed unexpectedly'))));
  return {
    connection,
    messageCount: 0,
    setListener: (next) => {
      listener = next;
    },
    close: () => connection.close(),
  };
}

/** Connects and logs in, as `enter` does. */
export const openSmtpSession = (
  line: SmtpSession,
  server: SmtpServer,
  options: SmtpOptions,
  then: (error?: Error | null) => void,
) => connectAndAuthenticate(line.connection, server, options, then);

export interface SmtpPool {
  /** A line that was kept and is still good; undefined when a new one is to be opened. */
  acquire(): Promise<SmtpSession | undefined>;
  /** Keeps a line whose message was taken for the next one, or lets go of it. */
  release(line: SmtpSession): void;
  close(): void;
}

/**
 * Connections between two messages, kept for a few seconds. As many as send at once, so no message waits for another's.
 * A kept line is asked to reset before it carries the next message: what else the server may have said meanwhile is
 * then never taken for an answer about that message.
 */
export function smtpPool(options: SmtpOptions): SmtpPool {
  const idleMs = options.timeouts?.idle ?? SMTP_TIMEOUTS_MS.idle;
  const idle = new Map<SmtpSession, NodeJS.Timeout>();
  let closed = false;
  const drop = (line: SmtpSession): void => {
    clearTimeout(idle.get(line));
    idle.delete(line);
    line.close();
  };
  return {
    acquire: async () => {
      for (;;) {
        const line = [...idle.keys()].at(-1);
        if (line === undefined) return undefined;
        clearTimeout(idle.get(line));
        idle.delete(line);
        if (await isAlive(line)) return line;
        line.close();
      }
    },
    release: (line) => {
      line.messageCount += 1;
      if (closed || line.messageCount >= MAX_MESSAGES_PER_CONNECTION || line.connection.destroyed) return line.close();
      line.setListener({ failed: () => drop(line) });
      // A process that has nothing else to do must not stay for it.
      idle.set(line, setTimeout(drop, idleMs, line).unref());
    },
    close: () => {
      closed = true;
      for (const line of [...idle.keys()]) drop(line);
    },
  };
}

const isAlive = (line: SmtpSession): Promise<boolean> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), RESET_TIMEOUT_MS);
    const end = (good: boolean) => {
      clearTimeout(timer);
      resolve(good);
    };
    line.setListener({ failed: () => end(false) });
    line.connection.reset((error) => end(!error));
  });
