import type { Clock } from '../../../base/clock.ts';
import { type Config, requireVariable } from '../../../base/config/config.ts';
import { type MailSender, parseMailSender } from '../../../base/config/mail-sender.ts';
import { signsFor } from '../../../base/config/smtp-variables.ts';
import { DocketError, errorSentence, toDocketError } from '../../../base/error.ts';
import { findProxyBy } from '../../../base/net/proxies.ts';
import type { Scope } from '../../../base/scope.ts';
import type { Redactor } from '../../../base/secrets/redactor.ts';
import { Secret, secretSource } from '../../../base/secrets/secret.ts';
import { sha256 } from '../../../base/sha256.ts';
import { resolveTarget } from '../../../definitions/schema/kinds.ts';
import type { OrgSettings } from '../../../definitions/schema/org-settings.ts';
import type { Definition } from '../../../definitions/schema/report-definition.ts';
import { TARGETS } from '../registry.ts';
import type { MailRoute } from '../target.ts';
import { parseDkimKey } from './dkim.ts';
import { accessTokens } from './smtp/oauth2.ts';
import { type Mailer, type SmtpMailer, type SmtpOptions, smtpMailer } from './smtp/smtp-mailer.ts';
import { smtpServiceName } from './smtp/smtp-url.ts';

/** What mail routes need from their process. */
export interface MailContext extends Partial<Redactor> {
  readonly config: Config;
  /** For secret references with `env`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/** Finds an organization's mail route; undefined if it has no server or no sender. */
export type GetMailRoute = (settings: OrgSettings) => Promise<MailRoute | undefined>;

/** A mail server with its login. */
export interface MailServer {
  readonly url: Secret;
  readonly options: Pick<SmtpOptions, 'oauth2' | 'redactor'>;
  /** The same for the same server and login. Reveals neither. */
  readonly fingerprint: string;
}

type OrgSmtp = NonNullable<OrgSettings['smtp']>;

/** The deployment's mail server settings from the environment, in the format of `org.yaml`. */
export function deploymentSmtp(config: Config): Pick<OrgSmtp, 'oauth2' | 'dkim'> {
  const file = (path: string | undefined) => (path === undefined ? undefined : { file: path });
  const { SMTP_OAUTH2_USER: user, SMTP_OAUTH2_TOKEN_URL: token_url, SMTP_OAUTH2_CLIENT_ID: client } = config;
  const { SMTP_DKIM_DOMAIN: domain, SMTP_DKIM_SELECTOR: selector, SMTP_DKIM_KEY_FILE: key } = config;
  // `readConfig` refuses incomplete groups of variables.
  const hasOAuth2 = user !== undefined && token_url !== undefined && client !== undefined;
  const hasDkim = domain !== undefined && selector !== undefined && key !== undefined;
  return {
    ...(hasOAuth2
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
    ...(hasDkim ? { dkim: { domain, selector, key: { file: key } } } : {}),
  };
}

/**
 * Reads every secret of the environment's mail settings at the start, so that a missing key is found before the first
 * report. Throws `config.invalid` with all problems.
 */
export async function assertMailSecrets({ config, env, ...redactor }: Omit<MailContext, 'clock'>): Promise<void> {
  const secrets = secretSource(env, redactor);
  const { oauth2, dkim } = deploymentSmtp(config);
  const problems: string[] = [];
  const check = async (variable: string, read: () => Promise<unknown>): Promise<void> => {
    await read().catch((thrown: unknown) => {
      const { message, expected, got } = toDocketError(thrown);
      problems.push(`${variable}: ${errorSentence({ message, expected, got, next: undefined })}`);
    });
  };
  const { client_secret, refresh_token } = oauth2 ?? {};
  if (client_secret !== undefined) await check('SMTP_OAUTH2_CLIENT_SECRET_FILE', () => secrets(client_secret));
  if (refresh_token !== undefined) await check('SMTP_OAUTH2_REFRESH_TOKEN_FILE', () => secrets(refresh_token));
  if (dkim !== undefined) {
    await check('SMTP_DKIM_KEY_FILE', async () => parseDkimKey(await secrets(dkim.key), 'SMTP_DKIM_KEY_FILE'));
  }
  if (problems.length === 0) return;
  throw new DocketError('config.invalid', `Invalid mail settings in the environment:\n  ${problems.join('\n  ')}`, {
    next: 'Correct the files that the variables above name.',
  });
}

/** The organization's mail server, or else the deployment's. Throws `config.secret_missing`. */
export async function resolveMailServer(
  { smtp }: Pick<OrgSettings, 'smtp'>,
  { config, env, clock, ...known }: MailContext,
): Promise<MailServer | undefined> {
  const secrets = secretSource(env, known);
  const value = smtp?.url === undefined ? config.SMTP_URL : await secrets(smtp.url);
  if (value === undefined) return undefined;
  const { redactor } = secrets;
  const url = typeof value === 'string' ? new Secret(value) : value;
  // A token works only for its own server.
  const oauth2 = smtp?.url === undefined ? deploymentSmtp(config).oauth2 : smtp.oauth2;
  if (oauth2 === undefined) return { url, options: { redactor }, fingerprint: url.fingerprint() };
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
        tokens: accessTokens(
          { tokenUrl, clientId, clientSecret, refreshToken, scope, redactor, findProxy: findProxyBy(config, secrets) },
          clock,
        ),
      },
    },
    fingerprint: sha256(JSON.stringify([...parts, user, tokenUrl, scope ?? null])),
  };
}

/**
 * The organization's own sender, or else the deployment's. It is named after the organization, unless MAIL_FROM
 * contains a name.
 */
function resolveSender({ smtp, name, id }: OrgSettings, { MAIL_FROM }: Config): Required<MailSender> | undefined {
  const fallback = { name: name ?? id };
  if (smtp?.from !== undefined) return { ...fallback, address: smtp.from };
  const sender = MAIL_FROM === undefined ? undefined : parseMailSender(MAIL_FROM);
  return sender === undefined ? undefined : { ...fallback, ...sender };
}

/** Identifies an organization's server settings by their secret references, without the values. */
const serverRef = ({ smtp }: Pick<OrgSettings, 'smtp'>): string =>
  smtp?.url === undefined ? 'SMTP_URL' : JSON.stringify([smtp.url, smtp.oauth2 ?? null]);

/** One open mailer per `serverRef`. */
function createMailerCache(open: typeof smtpMailer) {
  const current = new Map<string, { readonly fingerprint: string; readonly mailer: SmtpMailer }>();
  const retiring = new Set<SmtpMailer>();
  const retire = async (mailer: SmtpMailer): Promise<void> => {
    retiring.add(mailer);
    await mailer.drain();
    retiring.delete(mailer);
  };
  return {
    /** Returns the open mailer. After a secret was rotated, replaces the mailer and drains the old one. */
    get: (ref: string, { fingerprint, url, options }: MailServer): Mailer => {
      const cached = current.get(ref);
      if (cached?.fingerprint === fingerprint) return cached.mailer;
      const mailer = open(url, options);
      current.set(ref, { fingerprint, mailer });
      if (cached !== undefined) void retire(cached.mailer);
      return mailer;
    },
    close: async (): Promise<void> => {
      for (const { mailer } of current.values()) await mailer.close();
      for (const mailer of retiring) await mailer.close();
    },
  };
}

/**
 * Creates mail routes. They share one mailer per server and login, so that all runs share its connections; mailers
 * close with the scope. Secrets are read for each route: after a rotation a new mailer opens, and the old one closes
 * after its last message. Throws `config.invalid`, `config.secret_missing`.
 */
export function createMailRoutes(
  context: MailContext,
  scope: Scope,
  open: typeof smtpMailer = smtpMailer,
): GetMailRoute {
  const secrets = secretSource(context.env, context);
  const mailers = scope.use(createMailerCache(open), (opened) => opened.close());
  return async (settings) => {
    const sender = resolveSender(settings, context.config);
    const server = await resolveMailServer(settings, context);
    if (server === undefined || sender === undefined) return undefined;
    const { address: from, name: fromName } = sender;
    const mailer = mailers.get(serverRef(settings), server);
    const deploymentDkim = deploymentSmtp(context.config).dkim;
    // A signature for another domain proves nothing about the sender.
    const dkim =
      settings.smtp?.dkim ??
      (deploymentDkim !== undefined && signsFor(deploymentDkim.domain, from) ? deploymentDkim : undefined);
    const route = { mailer, from, fromName, service: smtpServiceName(server.url, server.fingerprint) };
    if (dkim === undefined) return route;
    const { domain, selector } = dkim;
    const where = dkim === settings.smtp?.dkim ? `the smtp.dkim of ${settings.id}` : 'SMTP_DKIM_KEY_FILE';
    const key = parseDkimKey(await secrets(dkim.key), where);
    return { ...route, dkim: { domain, selector, key } };
  };
}

/**
 * Throws `config.invalid` for a report with e-mail deliveries if no mail server or no sender is configured.
 *
 * @param alternative how the command runs without e-mail; part of the message
 */
export function assertMailConfigured(
  { org, report, deliveries }: Pick<Definition, 'org' | 'report' | 'deliveries'>,
  { smtp }: OrgSettings,
  config: Config,
  alternative?: string,
): void {
  if (!deliveries.some((delivery) => resolveTarget(delivery, TARGETS).target.usesMailServer)) return;
  const why = `${org}/${report} has an e-mail delivery${alternative === undefined ? '' : ` (${alternative})`}`;
  if (smtp?.url === undefined) requireVariable(config, 'SMTP_URL', why);
  if (smtp?.from === undefined) requireVariable(config, 'MAIL_FROM', why);
}
