import { DocketError, wordsOf } from '../base/error.ts';
import type { Secret } from '../base/secret.ts';
import { oneLine } from './one-line.ts';
import { enter, openConnection, type SmtpOptions, smtpText } from './smtp-connection.ts';
import { readSmtpUrl } from './smtp-url.ts';

const PATIENCE_MS = 10_000;

/** What a handshake with a mail server has shown. */
export interface MailProbe {
  /** In words, without a secret. */
  readonly said: string;
  readonly host: string;
  /** TLS, from the first byte or by STARTTLS. */
  readonly encrypted: boolean;
}

/** As `probeMail`, in words alone. */
export const probeMailServer = async (url: Secret, options: SmtpOptions = {}): Promise<string> =>
  (await probeMail(url, options)).said;

/**
 * Connects, greets and signs in exactly as a delivery would, and sends nothing. Resolves with what was reached.
 * Throws `deliver.target_failed` with the server's answer, `config.invalid` for a URL that cannot be read.
 */
export async function probeMail(url: Secret, options: SmtpOptions = {}): Promise<MailProbe> {
  const server = readSmtpUrl(url, options.oauth2 !== undefined);
  const redact = smtpText(url, options);
  const timeouts = { connect: PATIENCE_MS, silence: PATIENCE_MS, ...options.timeouts };
  const connection = openConnection(server, { ...options, timeouts });
  const name = `${server.host}:${server.port}`;
  try {
    await new Promise<void>((resolve, reject) => {
      // Stays for good: nodemailer may emit a late `error`, which without a listener ends the process.
      connection.on('error', reject);
      connection.once('end', () => setImmediate(reject, new Error('Connection closed unexpectedly')));
      enter(connection, server, options, (error) => (error ? reject(error) : resolve()));
    });
    const user = options.oauth2?.user ?? server.user;
    const said = `${name} answers${user === undefined ? '' : ` and lets ${user} in`}`;
    return { said, host: server.host, encrypted: connection.secure };
  } catch (cause) {
    throw new DocketError('deliver.target_failed', `The mail server ${name} cannot be used.`, {
      got: oneLine(redact(wordsOf(cause))),
      next: 'Correct SMTP_URL (or smtp.url in org.yaml), or start the server.',
    });
  } finally {
    connection.close();
  }
}
