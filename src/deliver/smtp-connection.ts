import SMTPConnection, { type SMTPConnectionCustomAuthHandler } from 'nodemailer/lib/smtp-connection';
import { createRedactor, foreignText, type Redact, type Redactor } from '../base/redactor.ts';
import type { Secret } from '../base/secret.ts';
import type { AccessTokens } from './oauth2.ts';
import { checkReplies } from './smtp-reply.ts';
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
  readonly silence: number;
  /** The whole attempt, for a server that trickles. */
  readonly total: number;
  /** How long a connection is kept for the next message. */
  readonly idle: number;
}

export const TIMEOUTS: SmtpTimeouts = { connect: 10_000, silence: 60_000, total: 180_000, idle: 10_000 };

/** nodemailer prefers other methods that a server offers to a handler that is called XOAUTH2. */
const METHOD = 'DOCKET-XOAUTH2';
const OFFERED = 'XOAUTH2';
const CONTINUE = 334;
const WELCOME = 235;

/** What the server says, without our secrets; of several lines as well, before their ends are lost. */
export function smtpText(url: Secret, { redactor = createRedactor() }: SmtpOptions): Redact {
  redactor.learn(url.reveal());
  return (said) => foreignText(said, redactor.redact);
}

/** A connection that is not open yet. Whoever gets it listens to `error` for good and closes it. */
export function openConnection(server: SmtpServer, options: SmtpOptions): SMTPConnection {
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
  // Like a failure that nodemailer finds by itself: `error`, then closed, so that it does not act on the reply.
  const logger = checkReplies((failure) => {
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
    socketTimeout: timeouts.silence,
    socketCloseTimeout: 1_000,
    maxResponseSize: 64 * 1024,
    logger,
    transactionLog: true,
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.ca === undefined ? {} : { tls: { ca: options.ca } }),
    ...(options.oauth2 === undefined ? {} : { customAuth: { [METHOD]: tokenLogin(options.oauth2) } }),
  });
  return connection;
}

/**
 * Connects, greets, starts TLS and logs in. With a user a login is always tried: a server that offers none is not the
 * one that was meant.
 */
export function enter(
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
        : { method: METHOD, user: oauth2.user };
    connection.login(login, (refused) => then(refused));
  });
}

/** One login by token, and a second one with a new token where the first was refused: it may have been revoked. */
const tokenLogin =
  ({ user, tokens }: SmtpOAuth2): SMTPConnectionCustomAuthHandler =>
  async ({ authMethods, sendCommand }) => {
    if (!authMethods.includes(OFFERED)) throw new Error(`The server offers no ${OFFERED}`);
    const tried = async (renew: boolean) => {
      const token = await tokens({ renew });
      const answer = Buffer.from(`user=${user}\x01auth=Bearer ${token.reveal()}\x01\x01`).toString('base64');
      const { status, text } = await sendCommand(`AUTH ${OFFERED} ${answer}`);
      // The server explains a refusal in a challenge, and says it after an empty answer.
      return status === CONTINUE ? await sendCommand('') : { status, text };
    };
    const first = await tried(false);
    if (first.status === WELCOME) return;
    const second = await tried(true);
    if (second.status !== WELCOME) throw new Error(`The token was refused: ${second.status} ${second.text}`);
  };
