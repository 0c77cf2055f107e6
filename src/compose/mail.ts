import { createHash } from 'node:crypto';
import type { Scope } from '../base/scope.ts';
import { Secret, secretSource } from '../base/secret.ts';
import type { OrgSettings } from '../define/org.ts';
import { readDkimKey } from '../deliver/dkim.ts';
import { type Mailer, type SmtpOptions, smtpMailer } from '../deliver/mailer.ts';
import { accessTokens } from '../deliver/oauth2.ts';
import { smtpService } from '../deliver/smtp-url.ts';
import type { MailRoute } from '../deliver/targets.ts';
import type { Surroundings } from './ports.ts';

/** How an organization's e-mail leaves; undefined when there is no server or no sender for it. */
export type MailOf = (settings: OrgSettings) => Promise<MailRoute | undefined>;

/** A mail server with how to log in there. */
export interface MailServer {
  readonly url: Secret;
  readonly options: Pick<SmtpOptions, 'oauth2'>;
  /** The same for the same server and login, telling neither. */
  readonly name: string;
}

/**
 * The organization's own mail server, or the deployment's. Throws `config.secret_missing`.
 */
export async function mailServerOf(
  { smtp }: OrgSettings,
  { config, env, clock }: Pick<Surroundings, 'config' | 'env' | 'clock'>,
): Promise<MailServer | undefined> {
  const secrets = secretSource(env);
  const given = smtp?.url === undefined ? config.SMTP_URL : await secrets(smtp.url);
  if (given === undefined) return undefined;
  const url = typeof given === 'string' ? new Secret(given) : given;
  if (smtp?.oauth2 === undefined) return { url, options: {}, name: url.fingerprint() };
  const { user, token_url: tokenUrl, client_id, client_secret, refresh_token, scope } = smtp.oauth2;
  const clientId = await secrets(client_id);
  const clientSecret = client_secret === undefined ? undefined : await secrets(client_secret);
  const refreshToken = refresh_token === undefined ? undefined : await secrets(refresh_token);
  const parts = [url, clientId, clientSecret, refreshToken].map((secret) => secret?.fingerprint() ?? null);
  return {
    url,
    options: {
      oauth2: { user, tokens: accessTokens({ tokenUrl, clientId, clientSecret, refreshToken, scope }, clock) },
    },
    name: createHash('sha256')
      .update(JSON.stringify([...parts, user, tokenUrl, scope ?? null]))
      .digest('hex'),
  };
}

/**
 * One mailer for each server and login of this process, so that its connections serve all runs; closed with the scope.
 * Secrets are read anew each time: a rotated one makes another mailer. Throws `config.invalid`, `config.secret_missing`.
 */
export function mailRoutes(around: Pick<Surroundings, 'config' | 'env' | 'clock'>, scope: Scope): MailOf {
  const secrets = secretSource(around.env);
  const mailers = scope.use(new Map<string, Mailer>(), async (opened) => {
    for (const mailer of opened.values()) await mailer.close();
  });
  return async (settings) => {
    const from = settings.smtp?.from ?? around.config.MAIL_FROM;
    const server = await mailServerOf(settings, around);
    if (server === undefined || from === undefined) return undefined;
    const mailer = mailers.get(server.name) ?? smtpMailer(server.url, server.options);
    mailers.set(server.name, mailer);
    const dkim = settings.smtp?.dkim;
    const route = { mailer, from, service: smtpService(server.url, server.name) };
    if (dkim === undefined) return route;
    const { domain, selector } = dkim;
    const key = readDkimKey(await secrets(dkim.key), `the smtp.dkim of ${settings.id}`);
    return { ...route, dkim: { domain, selector, key } };
  };
}
