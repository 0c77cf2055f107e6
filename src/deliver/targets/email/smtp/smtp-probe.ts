import { TLSSocket } from 'node:tls';
import { DocketError, errorMessage } from '../../../../base/error.ts';
import type { Secret } from '../../../../base/secrets/secret.ts';
import { oneLine } from '../../../../base/text/bidi.ts';
import { connectAndAuthenticate, openConnection, replyRedactor, type SmtpOptions } from './smtp-connection.ts';
import { parseSmtpUrl } from './smtp-url.ts';

const PROBE_TIMEOUT_MS = 10_000;

/** The result of a handshake with a mail server. */
export interface SmtpProbe {
  /** A sentence without secrets. */
  readonly detail: string;
  readonly host: string;
  /** Whether TLS is used, from the first byte or by STARTTLS. */
  readonly encrypted: boolean;
}

/**
 * Connects and logs in as a delivery does, and sends nothing.
 * Throws `deliver.target_failed` with the server's reply, `config.invalid` for an invalid URL.
 */
export async function probeSmtp(url: Secret, options: SmtpOptions = {}): Promise<SmtpProbe> {
  const server = parseSmtpUrl(url, options.oauth2 !== undefined);
  const redact = replyRedactor(url, options);
  const timeouts = { connect: PROBE_TIMEOUT_MS, inactivity: PROBE_TIMEOUT_MS, ...options.timeouts };
  const connection = openConnection(server, { ...options, timeouts });
  const name = `${server.host}:${server.port}`;
  try {
    await new Promise<void>((resolve, reject) => {
      // This listener is never removed: nodemailer may emit a late `error`, which would end the process without one.
      connection.on('error', reject);
      connection.once('end', () => setImmediate(reject, new Error('Connection closed unexpectedly')));
      connectAndAuthenticate(connection, server, options, (error) => (error ? reject(error) : resolve()));
    });
    const user = options.oauth2?.user ?? server.user;
    const detail = `${name} answers${user === undefined ? '' : ` and accepts the login of ${user}`}`;
    return { detail, host: server.host, encrypted: connection.secure };
  } catch (cause) {
    throw new DocketError('deliver.target_failed', `The mail server ${name} cannot be used.`, {
      got: oneLine(redact(errorMessage(cause))),
      next: 'Correct SMTP_URL (or smtp.url in org.yaml), or start the server.',
    });
  } finally {
    connection.close();
  }
}

/**
 * When a mail server's certificate expires, epoch ms, even if the certificate is not trusted; undefined without TLS.
 * Sends no credentials. Rejects if the server does not answer.
 */
export async function readSmtpCertificate(url: Secret, options: SmtpOptions = {}): Promise<number | undefined> {
  const server = parseSmtpUrl(url, options.oauth2 !== undefined);
  const timeouts = { connect: PROBE_TIMEOUT_MS, inactivity: PROBE_TIMEOUT_MS, ...options.timeouts };
  const connection = openConnection(server, { ...options, timeouts, anyCertificate: true });
  try {
    await new Promise<void>((resolve, reject) => {
      // Never removed, as above.
      connection.on('error', reject);
      connection.once('end', () => setImmediate(reject, new Error('Connection closed unexpectedly')));
      connection.connect((error) => (error ? reject(error) : resolve()));
    });
    // nodemailer replaces the socket when STARTTLS succeeds.
    const socket: unknown = Reflect.get(connection, '_socket');
    const end = socket instanceof TLSSocket ? Date.parse(socket.getPeerCertificate().valid_to) : Number.NaN;
    return Number.isFinite(end) ? end : undefined;
  } finally {
    connection.close();
  }
}
