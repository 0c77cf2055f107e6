import SMTPConnection, { type SMTPConnectionCustomAuthHandler } from 'nodemailer/lib/smtp-connection';
import { createRedactor, type Redact, type Redactor, redactUntrusted } from '../../../../base/secrets/redactor.ts';
import type { Secret } from '../../../../base/secrets/secret.ts';
import type { AccessTokens } from './oauth2.ts';
import { replyChecker } from './smtp-replies.ts';
import type { SmtpServer } from './smtp-url.ts';

/** Login with an access token (XOAUTH2). */
export interface SmtpOAuth2 {
  readonly user: string;
  readonly tokens: AccessTokens;
}

export interface SmtpOptions {
  /** Client name in EHLO. Default: the machine's name. */
  readonly name?: string;
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string;
  /** Accepts any certificate, to read its dates. Never log in or send on such a connection. */
  readonly anyCertificate?: boolean;
  readonly oauth2?: SmtpOAuth2;
  /** Removes secrets from the server's replies. Default: only those in the URL. */
  readonly redactor?: Redactor;
  /** Limits in ms, so that an attempt ends while the worker still holds the run's lock. */
  readonly timeouts?: Partial<SmtpTimeouts>;
}

export interface SmtpTimeouts {
  /** DNS, TCP, TLS and the greeting together. */
  readonly connect: number;
  /** Inactivity at any later step, including the reply to the message. */
  readonly inactivity: number;
  /** For the whole attempt, in case a server is slow. */
  readonly total: number;
  /** How long a pooled connection stays open. */
  readonly idle: number;
}

export const SMTP_TIMEOUTS_MS: SmtpTimeouts = { connect: 10_000, inactivity: 60_000, total: 180_000, idle: 10_000 };

/** Not `XOAUTH2`: nodemailer would prefer other methods of the server to a handler with that name. */
const CUSTOM_AUTH_METHOD = 'DOCKET-XOAUTH2';
const XOAUTH2 = 'XOAUTH2';
const AUTH_CONTINUE = 334;
const AUTH_SUCCEEDED = 235;

/** Removes secrets from replies. Apply it before lines are joined. */
export function replyRedactor(url: Secret, { redactor = createRedactor() }: SmtpOptions): Redact {
  redactor.registerSecret(url.reveal());
  return (reply) => redactUntrusted(reply, redactor.redact);
}

/** Creates a connection that is not open yet. The caller must always handle `error` and close it. */
export function openConnection(server: SmtpServer, options: SmtpOptions): SMTPConnection {
  const timeouts = { ...SMTP_TIMEOUTS_MS, ...options.timeouts };
  // Emits `error`, then closes, as nodemailer does for its own failures, so that it ignores the reply.
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
    tls: {
      ...(options.ca === undefined ? {} : { ca: options.ca }),
      ...(options.anyCertificate === true ? { rejectUnauthorized: false } : {}),
    },
    ...(options.oauth2 === undefined
      ? {}
      : { customAuth: { [CUSTOM_AUTH_METHOD]: tokenAuthentication(options.oauth2) } }),
  });
  return connection;
}

/**
 * Connects, starts TLS and logs in. With a user the login is mandatory: a server without AUTH is not the one that was
 * configured.
 */
export function connectAndAuthenticate(
  connection: SMTPConnection,
  server: SmtpServer,
  { oauth2 }: SmtpOptions,
  callback: (error?: Error | null) => void,
): void {
  connection.connect((error) => {
    const { user, pass } = server;
    if (error || (user === undefined && oauth2 === undefined)) return callback(error);
    const login =
      oauth2 === undefined
        ? { credentials: { user, pass: pass?.reveal() ?? '' } }
        : { method: CUSTOM_AUTH_METHOD, user: oauth2.user };
    connection.login(login, callback);
  });
}

/** Logs in with the current token, then once with a new one, because the current one may have been revoked. */
const tokenAuthentication =
  ({ user, tokens }: SmtpOAuth2): SMTPConnectionCustomAuthHandler =>
  async ({ authMethods, sendCommand }) => {
    if (!authMethods.includes(XOAUTH2)) throw new Error(`The server offers no ${XOAUTH2}`);
    const authenticate = async (renew: boolean) => {
      const token = await tokens({ renew });
      const credentials = Buffer.from(`user=${user}\x01auth=Bearer ${token.reveal()}\x01\x01`).toString('base64');
      const { status, text } = await sendCommand(`AUTH ${XOAUTH2} ${credentials}`);
      // A refusal starts with a challenge; an empty response gets the final code.
      return status === AUTH_CONTINUE ? await sendCommand('') : { status, text };
    };
    const first = await authenticate(false);
    if (first.status === AUTH_SUCCEEDED) return;
    const second = await authenticate(true);
    if (second.status !== AUTH_SUCCEEDED)
      throw new Error(`The access token was refused: ${second.status} ${second.text}`);
  };

/** A pooled connection must answer RSET within this time. */
const RESET_TIMEOUT_MS = 5_000;
/** Servers may treat more messages on one connection as abuse. */
const MAX_MESSAGES_PER_CONNECTION = 100;

/** A connection to a mail server for several messages, one after the other. Not open yet. */
export function createSmtpSession(server: SmtpServer, options: SmtpOptions) {
  const connection = openConnection(server, options);
  let onFailure: ((error: unknown) => void) | undefined;
  // This listener is never removed: nodemailer may emit a late `error`, which would end the process without one.
  connection.on('error', (error) => onFailure?.(error));
  // Waits for the callbacks of the same turn: their errors are more specific.
  connection.once('end', () => setImmediate(() => onFailure?.(new Error('Connection closed unexpectedly'))));
  return {
    connection,
    /** Messages sent so far. */
    messageCount: 0,
    /** Sets the listener for failures of the connection; undefined removes it. */
    setListener: (next: typeof onFailure): void => {
      onFailure = next;
    },
    /**
     * The `SIZE` in the server's EHLO reply (RFC 1870). nodemailer refuses larger messages. Undefined if there is no
     * number.
     */
    announcedSize: (): number | undefined => {
      const size: unknown = Reflect.get(connection, '_maxAllowedSize');
      return typeof size === 'number' && size > 0 ? size : undefined;
    },
    close: (): void => connection.close(),
  };
}
export type SmtpSession = ReturnType<typeof createSmtpSession>;

/**
 * A pool of idle connections, kept for a few seconds. It has no limit, so no message waits for a connection. A pooled
 * session is reset (RSET) before its next message, so that a late reply is never taken for that message's reply.
 */
export function smtpPool(options: SmtpOptions) {
  const idleMs = options.timeouts?.idle ?? SMTP_TIMEOUTS_MS.idle;
  const idle = new Map<SmtpSession, NodeJS.Timeout>();
  let closed = false;
  const discard = (session: SmtpSession): void => {
    clearTimeout(idle.get(session));
    idle.delete(session);
    session.close();
  };
  return {
    /** A live session from the pool; undefined if it has none. */
    acquire: async (): Promise<SmtpSession | undefined> => {
      for (;;) {
        const session = [...idle.keys()].at(-1);
        if (session === undefined) return undefined;
        clearTimeout(idle.get(session));
        idle.delete(session);
        // Before the first message no reply can be late.
        if (session.messageCount === 0 || (await isAlive(session))) return session;
        session.close();
      }
    },
    /** Returns an idle session to the pool, or closes it. */
    release: (session: SmtpSession) => {
      const isFull = session.messageCount >= MAX_MESSAGES_PER_CONNECTION;
      if (closed || isFull || session.connection.destroyed) return session.close();
      session.setListener(() => discard(session));
      // `unref`, because an idle connection must not keep the process alive.
      idle.set(session, setTimeout(discard, idleMs, session).unref());
    },
    close: () => {
      closed = true;
      for (const session of [...idle.keys()]) discard(session);
    },
  };
}

const isAlive = (session: SmtpSession): Promise<boolean> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), RESET_TIMEOUT_MS);
    const settle = (alive: boolean) => {
      clearTimeout(timer);
      resolve(alive);
    };
    session.setListener(() => settle(false));
    session.connection.reset((error) => settle(!error));
  });
