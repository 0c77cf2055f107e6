import { createHash } from 'node:crypto';
import type { Config } from '../base/config.ts';
import { DocketError, toDocketError } from '../base/error.ts';
import type { Scope } from '../base/scope.ts';
import { Secret, secretSource } from '../base/secret.ts';
import { signsFor } from '../base/smtp-variables.ts';
import type { OrgSettings } from '../define/org.ts';
import { readDkimKey } from '../deliver/dkim.ts';
import { type Mailer, type SmtpMailer, type SmtpOptions, smtpMailer } from '../deliver/mailer.ts';
import { accessTokens } from '../deliver/oauth2.ts';
import { smtpService } from '../deliver/smtp-url.ts';
import type { MailRoute } from '../deliver/targets.ts';
import type { Surroundings } from './ports.ts';

/** How an organization's e-mail leaves; undefined when there is no server or no sender for it. */
export type MailOf = (settings: OrgSettings) => Promise<MailRoute | undefined>;

/** A mail server with how to log in there. */
export interface MailServer {
  readonly url: Secret;
  readonly options: Pick<SmtpOptions, 'oauth2' | 'redactor'>;
  /** The same for the same server and login, telling neither. */
  readonly name: string;
}

type OrgSmtp = NonNullable<OrgSettings['smtp']>;

/** What the environment says of the deployment's own server, in the words of an `org.yaml`. */
export function deploymentSmtp(config: Config): Pick<OrgSmtp, 'oauth2' | 'dkim'> {
  const file = (path: string | undefined) => (path === undefined ? undefined : { file: path });
  const { SMTP_OAUTH2_USER: user, SMTP_OAUTH2_TOKEN_URL: token_url, SMTP_OAUTH2_CLIENT_ID: client } = config;
  const { SMTP_DKIM_DOMAIN: domain, SMTP_DKIM_SELECTOR: selector, SMTP_DKIM_KEY_FILE: key } = config;
  // `readConfig` has seen to it that what belongs together is there together.
  const known = user !== undefined && token_url !== undefined && client !== undefined;
  const signs = domain !== undefined && selector !== undefined && key !== undefined;
  return {
    ...(known
      ? {
          oauth2: {
            user,
            token_url,
            client_id: { env: 'SMTP_OAUTH2_CLIENT_ID' },
            client_secret: file(config.SMTP_OAUTH2_CLIENT_SECRET_FILE),
            refresh_token: file(config.SMTP_OAUTH2_REFRESH_TOKEN_FILE),
            scope: config.SMTP_OAUTH2_SCOPE,
          },
        }
      : {}),
    ...(signs ? { dkim: { domain, selector, key: { file: key } } } : {}),
  };
}

/**
 * Reads every secret that the environment's mail settings refer to, once, at start: a key that is missing must not be
 * found out by the first report. Throws `config.invalid` with all that cannot be used.
 */
export async function requireMailSecrets({
  config,
  env,
  ...known
}: Pick<Surroundings, 'config' | 'env' | 'learn' | 'redact'>): Promise<void> {
  const secrets = secretSource(env, known);
  const { oauth2, dkim } = deploymentSmtp(config);
  const faults: string[] = [];
  const look = async (variable: string, read: () => Promise<unknown>): Promise<void> => {
    await read().catch((thrown: unknown) => {
      const { message, expected, got } = toDocketError(thrown);
      faults.push(
        [`${variable}: ${message}`, expected && `Expected ${expected}.`, got && `Got ${got}.`]
          .filter(Boolean)
          .join(' '),
      );
    });
  };
  const { client_secret, refresh_token } = oauth2 ?? {};
  if (client_secret !== undefined) await look('SMTP_OAUTH2_CLIENT_SECRET_FILE', () => secrets(client_secret));
  if (refresh_token !== undefined) await look('SMTP_OAUTH2_REFRESH_TOKEN_FILE', () => secrets(refresh_token));
  if (dkim !== undefined) {
    await look('SMTP_DKIM_KEY_FILE', async () => readDkimKey(await secrets(dkim.key), 'SMTP_DKIM_KEY_FILE'));
  }
  if (faults.length === 0) return;
  throw new DocketError('config.invalid', `Mail cannot leave as the environment says:\n  ${faults.join('\n  ')}`, {
    next: 'Correct the files that the variables above name.',
  });
}

/**
 * The organization's own mail server, or the deployment's. Throws `config.secret_missing`.
 */
export async function mailServerOf(
  { smtp }: Pick<OrgSettings, 'smtp'>,
  { config, env, clock, ...known }: Pick<Surroundings, 'config' | 'env' | 'clock' | 'learn' | 'redact'>,
): Promise<MailServer | undefined> {
  const secrets = secretSource(env, known);
  const given = smtp?.url === undefined ? config.SMTP_URL : await secrets(smtp.url);
  if (given === undefined) return undefined;
  const { redactor } = secrets;
  const url = typeof given === 'string' ? new Secret(given) : given;
  // A token is for one server: the deployment's for the deployment's.
  const oauth2 = smtp?.url === undefined ? deploymentSmtp(config).oauth2 : smtp.oauth2;
  if (oauth2 === undefined) return { url, options: { redactor }, name: url.fingerprint() };
  const { user, token_url: tokenUrl, client_id, client_secret, refresh_token, scope } = oauth2;
  const clientId = await secrets(client_id);
  const clientSecret = client_secret === undefined ? undefined : await secrets(client_secret);
  const refreshToken = refresh_token === undefined ? undefined : await secrets(refresh_token);
  const parts = [url, clientId, clientSecret, refreshToken].map((secret) => secret?.fingerprint() ?? null);
  return {
    url,
    options: {
      redactor,
      oauth2: {
        user,
        tokens: accessTokens({ tokenUrl, clientId, clientSecret, refreshToken, scope, redactor }, clock),
      },
    },
    name: createHash('sha256')
      .update(JSON.stringify([...parts, user, tokenUrl, scope ?? null]))
      .digest('hex'),
  };
}

/** Where the server and the login of an organization are said: references, not what they lead to. */
const placeOf = ({ smtp }: Pick<OrgSettings, 'smtp'>): string =>
  smtp?.url === undefined ? 'SMTP_URL' : JSON.stringify([smtp.url, smtp.oauth2 ?? null]);

/** Mailers that are in use, one for each place where a server is said. */
interface Mailers {
  /** The mailer of this server: the one of before, unless a secret was rotated; then another takes its place. */
  of(place: string, server: MailServer): Mailer;
  close(): Promise<void>;
}

function keptMailers(open: typeof smtpMailer): Mailers {
  const current = new Map<string, { readonly name: string; readonly mailer: SmtpMailer }>();
  const retiring = new Set<SmtpMailer>();
  const retire = async (mailer: SmtpMailer): Promise<void> => {
    retiring.add(mailer);
    await mailer.retire();
    retiring.delete(mailer);
  };
  return {
    of: (place, { name, url, options }) => {
      const known = current.get(place);
      if (known?.name === name) return known.mailer;
      const mailer = open(url, options);
      current.set(place, { name, mailer });
      if (known !== undefined) void retire(known.mailer);
      return mailer;
    },
    close: async () => {
      for (const { mailer } of current.values()) await mailer.close();
      for (const mailer of retiring) await mailer.close();
    },
  };
}

/**
 * One mailer for each server and login of this process, so that its connections serve all runs; closed with the scope.
 * Secrets are read anew each time: a rotated one makes another mailer, and the one before is let go when its messages
 * have left. Throws `config.invalid`, `config.secret_missing`.
 */
export function mailRoutes(
  around: Pick<Surroundings, 'config' | 'env' | 'clock' | 'learn' | 'redact'>,
  scope: Scope,
  open: typeof smtpMailer = smtpMailer,
): MailOf {
  const secrets = secretSource(around.env, around);
  const mailers = scope.use(keptMailers(open), (opened) => opened.close());
  return async (settings) => {
    const from = settings.smtp?.from ?? around.config.MAIL_FROM;
    const server = await mailServerOf(settings, around);
    if (server === undefined || from === undefined) return undefined;
    const mailer = mailers.of(placeOf(settings), server);
    const ours = deploymentSmtp(around.config).dkim;
    // A signature of a domain that is not the sender's would prove nothing of the sender.
    const dkim = settings.smtp?.dkim ?? (ours !== undefined && signsFor(ours.domain, from) ? ours : undefined);
    const route = { mailer, from, service: smtpService(server.url, server.name) };
    if (dkim === undefined) return route;
    const { domain, selector } = dkim;
    const where = dkim === settings.smtp?.dkim ? `the smtp.dkim of ${settings.id}` : 'SMTP_DKIM_KEY_FILE';
    const key = readDkimKey(await secrets(dkim.key), where);
    return { ...route, dkim: { domain, selector, key } };
  };
}
