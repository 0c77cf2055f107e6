import { DocketError } from '../../../../base/error.ts';
import { Secret } from '../../../../base/secrets/secret.ts';

export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** Implicit TLS. */
  readonly secure: boolean;
  /** STARTTLS: `required` fails without it, `offered` uses it if the server supports it, `off` never uses it. */
  readonly tls: 'required' | 'offered' | 'off';
  readonly user?: string;
  readonly pass?: Secret;
}

const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1']);

/**
 * `smtp://[user:password@]host[:587][?tls=required|offered|off]` or `smtps://[user:password@]host[:465]`.
 *
 * The default of `tls` is `required` with a password, except for loopback hosts: an attacker who removes STARTTLS from
 * the reply must not see the password. Without a password it is `offered`. A login by token counts as a password; the
 * URL then has no user. Throws `config.invalid`, never repeating the URL.
 */
export function parseSmtpUrl(secret: Secret, byToken = false): SmtpServer {
  const invalid = (expected: string, got: string) =>
    new DocketError('config.invalid', 'The URL of the mail server cannot be used.', {
      expected,
      got,
      where: 'SMTP_URL',
      next: 'Correct SMTP_URL, or the secret that smtp.url in org.yaml refers to.',
    });
  const text = secret.reveal();
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'smtp:' && url.protocol !== 'smtps:') || url.hostname === '') {
    throw invalid(
      'smtp://host:port or smtps://user:password@host',
      'something else (not shown: it may hold a password)',
    );
  }
  const secure = url.protocol === 'smtps:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  for (const name of url.searchParams.keys()) {
    if (name !== 'tls' || secure) throw invalid(secure ? 'no parameters on smtps://' : 'no parameter but "tls"', name);
  }
  const tls = url.searchParams.get('tls');
  if (tls !== null && tls !== 'required' && tls !== 'offered' && tls !== 'off') {
    throw invalid('tls=required, tls=offered or tls=off', `tls=${tls}`);
  }
  if ((url.username === '') !== (url.password === '')) {
    throw invalid(
      'both a user name and a password, or neither',
      url.username === '' ? 'a password alone' : 'a name alone',
    );
  }
  if (byToken && url.username !== '') throw invalid('no user and password beside smtp.oauth2', 'a user name');
  const fallback = (byToken || url.username !== '') && !LOOPBACK_HOSTS.has(host) ? 'required' : 'offered';
  let user: string;
  let pass: string;
  try {
    user = decodeURIComponent(url.username);
    pass = decodeURIComponent(url.password);
  } catch {
    throw invalid('a user name and password with "%" written as %25', 'a broken percent escape');
  }
  return Object.freeze({
    host,
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    tls: tls ?? fallback,
    ...(user === '' ? {} : { user, pass: new Secret(pass) }),
  });
}

/**
 * A mail server's name for logs and the circuit breaker, without secrets: host, port, and the start of the login's
 * fingerprint. A corrected login gets another name, so that it does not inherit the failures of the old one.
 */
export function smtpServiceName(url: Secret, fingerprint: string): string {
  const { host, port } = parseSmtpUrl(url);
  return `mail ${host}:${port} ${fingerprint.slice(0, 8)}`;
}
