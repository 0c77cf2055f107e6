import { DocketError } from '../base/error.ts';
import { Secret } from '../base/secret.ts';

export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte. */
  readonly secure: boolean;
  /** STARTTLS: `required` fails without it, `offered` takes it where the server has it, `off` never. */
  readonly tls: 'required' | 'offered' | 'off';
  readonly user?: string;
  readonly pass?: Secret;
}

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1']);

/**
 * `smtp://[user:password@]host[:587][?tls=required|offered|off]` or `smtps://[user:password@]host[:465]`.
 *
 * Without `tls`, a password makes it `required` except on this very machine, so that a password never crosses a
 * network in the clear because somebody in between removed STARTTLS from the answer; else it is `offered`.
 * A login by token counts like a password, and the URL then has neither.
 * Throws `config.invalid`, never repeating the URL.
 */
export function readSmtpUrl(secret: Secret, byToken = false): SmtpServer {
  const fault = (expected: string, got: string) =>
    new DocketError('config.invalid', 'The URL of the mail server cannot be used.', {
      expected,
      got,
      where: 'SMTP_URL',
      next: 'Correct SMTP_URL, or the secret that smtp.url in org.yaml refers to.',
    });
  const text = secret.reveal();
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'smtp:' && url.protocol !== 'smtps:') || url.hostname === '') {
    throw fault('smtp://host:port or smtps://user:password@host', 'something else (not shown: it may hold a password)');
  }
  const secure = url.protocol === 'smtps:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  for (const name of url.searchParams.keys()) {
    if (name !== 'tls' || secure) throw fault(secure ? 'no parameters on smtps://' : 'no parameter but "tls"', name);
  }
  const given = url.searchParams.get('tls');
  if (given !== null && given !== 'required' && given !== 'offered' && given !== 'off') {
    throw fault('tls=required, tls=offered or tls=off', `tls=${given}`);
  }
  if ((url.username === '') !== (url.password === '')) {
    throw fault(
      'both a user name and a password, or neither',
      url.username === '' ? 'a password alone' : 'a name alone',
    );
  }
  if (byToken && url.username !== '') throw fault('no user and password beside smtp.oauth2', 'a user name');
  const fallback = (byToken || url.username !== '') && !LOOPBACK.has(host) ? 'required' : 'offered';
  let user: string;
  let pass: string;
  try {
    user = decodeURIComponent(url.username);
    pass = decodeURIComponent(url.password);
  } catch {
    throw fault('a user name and password with "%" written as %25', 'a broken percent escape');
  }
  return Object.freeze({
    host,
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    tls: given ?? fallback,
    ...(user === '' ? {} : { user, pass: new Secret(pass) }),
  });
}

/**
 * A mail server as logs and shared state may name it: its host and port, and the beginning of what tells one login from
 * another. A login that is corrected has another name, and does not wait for the failures of the old one.
 */
export function smtpService(url: Secret, login: string): string {
  const { host, port } = readSmtpUrl(url);
  return `mail ${host}:${port} ${login.slice(0, 8)}`;
}
