import SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { SmtpServer } from './smtp-url.ts';

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

export const TIMEOUTS: SmtpTimeouts = { connect: 10_000, silence: 60_000, total: 180_000 };

/** A connection that is not open yet. Whoever gets it listens to `error` for good and closes it. */
export function openConnection(server: SmtpServer, options: SmtpOptions): SMTPConnection {
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
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

/**
 * Connects, greets, starts TLS and logs in. With a user name in the URL a login is always tried: a server that offers
 * none is not the one that was meant.
 */
export function enter(connection: SMTPConnection, server: SmtpServer, then: (error?: Error | null) => void): void {
  connection.connect((error) => {
    const { user, pass } = server;
    if (error || user === undefined) return then(error);
    connection.login({ credentials: { user, pass: pass?.reveal() ?? '' } }, (refused) => then(refused));
  });
}
