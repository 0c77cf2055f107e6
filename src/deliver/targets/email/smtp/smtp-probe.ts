import { DocketError, errorMessage } from '../../../../base/error.ts';
import type { Secret } from '../../../../base/secrets/secret.ts';
import { oneLine } from '../../../../base/text/bidi.ts';
import { connectAndAuthenticate, openConnection, replyRedactor, type SmtpOptions } from './smtp-connection.ts';
import { parseSmtpUrl } from './smtp-url.ts';

const PROBE_TIMEOUT_MS = 10_000;

/** What a handshake with a mail server has shown. */
export interface SmtpProbe {
  /** In words, without a secret. */
  readonly detail: string;
  readonly host: string;
  /** TLS, from the first byte or by STARTTLS. */
  readonly encrypted: boolean;
}

/** As `probeMail`, in words alone. */
export const probeSmtpServer = async (url: Secret, options: SmtpOptions = {}): Promise<string> =>
  (await probeSmtp(url, options)).detail;

/**
 * Connects, greets and signs in exactly as a delivery would, and sends nothing. Resolves with what was reached.
 * Throws `deliver.target_failed` with the server's answer, `config.invalid` for a URL that cannot be read.
 */
export async function probeSmtp(url: Secret, options: SmtpOptions = {}): Promise<SmtpProbe> {
  const server = parseSmtpUrl(url, options.oauth2 !== undefined);
  const redact = replyRedactor(url, options);
  const timeouts = { connect: PROBE_TIMEOUT_MS, inactivity: PROBE_TIMEOUT_MS, ...options.timeouts };
  const connection = openConnection(server, { ...options, timeouts });
  const name = `${server.host}:${server.port}`;
  try {
    await new Promise<void>((resolve, reject) => {
      // Stays for good: nodemailer may emit a late `error`, which without a listener ends the process.
      connection.on('error', reject);
      connection.once('end', () => setImmediate(reject, new Error('Connection closed unexpectedly')));
      connectAndAuthenticate(connection, server, options, (error) => (error ? reject(error) : resolve()));
    });
    const user = options.oauth2?.user ?? server.user;
    const detail = `${name} answers${user === undefined ? '' : ` and lets ${user} in`}`;
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
