import { createTransport } from 'nodemailer';
import { DocketError } from '../base/error.ts';
import type { Secret } from '../base/secret.ts';
import { readSmtpUrl } from './smtp-url.ts';

const PATIENCE_MS = 10_000;

/**
 * Connects, greets and signs in as a delivery would, and sends nothing. Resolves with what was reached, in words.
 * Throws `deliver.target_failed` with the server's answer, `config.invalid` for a URL that cannot be read.
 */
export async function probeMailServer(url: Secret): Promise<string> {
  const { host, port, secure, tls, user, pass } = readSmtpUrl(url);
  const transport = createTransport({
    host,
    port,
    secure,
    requireTLS: tls === 'required' && !secure,
    ignoreTLS: tls === 'off',
    connectionTimeout: PATIENCE_MS,
    greetingTimeout: PATIENCE_MS,
    socketTimeout: PATIENCE_MS,
    ...(user === undefined ? {} : { auth: { user, pass: pass?.reveal() ?? '' } }),
  });
  try {
    await transport.verify();
    return `${host}:${port} answers${user === undefined ? '' : ` and lets ${user} in`}`;
  } catch (cause) {
    throw new DocketError('deliver.target_failed', `The mail server ${host}:${port} cannot be used.`, {
      got: cause instanceof Error ? cause.message : String(cause),
      next: 'Correct SMTP_URL (or smtp.url in org.yaml), or start the server.',
      cause,
    });
  } finally {
    transport.close();
  }
}
