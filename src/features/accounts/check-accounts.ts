import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { ServerMetadata } from 'openid-client';
import type { AppContext } from '../../base/context.ts';
import { DocketError, errorMessage } from '../../base/error.ts';
import { findProxyBy } from '../../base/net/proxies.ts';
import { ensureRedactor } from '../../base/secrets/redactor.ts';
import { secretSource } from '../../base/secrets/secret.ts';
import {
  type CheckResult,
  type Finding,
  fail,
  ok,
  resultOfError,
  runCheck,
  warn,
} from '../../services/deployment/probe.ts';
import { readAccounts } from './accounts-file.ts';
import { type IdentityProvider, newFlowChecks, openIdProvider, requestedScopes } from './provider.ts';
import { boundedFetch, type Fetch } from './provider-fetch.ts';
import { type OidcSettings, oidcSettings } from './settings.ts';

type Metadata = Readonly<ServerMetadata>;

/** Checks issuer, client and redirect URL at the OpenID provider, and the mapping file. Does not sign anybody in. */
export async function checkAccounts(context: AppContext): Promise<readonly Finding[]> {
  const settings = oidcSettings(context.config);
  if (settings === undefined) return [];
  const secrets = secretSource(context.env, context);
  const secret = await secrets(settings.clientSecret).catch((thrown: unknown) => thrown);
  if (!isSecret(secret)) return [{ what: 'OpenID client', ...resultOfError(secret) }];
  const { clock, config } = context;
  const fetch = boundedFetch(undefined, findProxyBy(config, secrets));
  const provider = openIdProvider({ settings, secret, redactor: ensureRedactor(context), clock, fetch });
  const findings: Finding[] = [];
  try {
    const metadata = await provider.discover();
    findings.push({ what: 'OpenID provider', ...evaluateMetadata(metadata, settings) });
    findings.push(await runCheck('OpenID client', () => checkClient(provider)));
    findings.push(await runCheck('OpenID redirect URL', () => checkRedirect(provider, fetch)));
  } catch (thrown) {
    findings.push({ what: 'OpenID provider', ...resultOfError(thrown) });
  }
  const proxies = config.DOCKET_ADMIN_TRUSTED_PROXIES;
  if (settings.redirectUrl.startsWith('https:') && proxies === undefined) findings.push(NO_PROXY);
  if (settings.accounts !== undefined) findings.push(await checkFile(settings.accounts));
  return findings;
}

type SecretOf = Awaited<ReturnType<ReturnType<typeof secretSource>>>;
const isSecret = (value: unknown): value is SecretOf =>
  typeof value === 'object' && value !== null && 'reveal' in value;

const NO_PROXY: Finding = {
  what: 'OpenID redirect URL',
  ...fail(
    'it is https://, and no proxy is trusted to end TLS before Docket: sign-in is impossible',
    'Set DOCKET_ADMIN_TRUSTED_PROXIES to the address of the proxy.',
  ),
};

/** Compares the provider's metadata with what a sign-in needs. */
export function evaluateMetadata(metadata: Metadata, settings: Pick<OidcSettings, 'issuer' | 'scopes'>): CheckResult {
  const {
    authorization_endpoint: authorization,
    token_endpoint: token,
    jwks_uri: keys,
    code_challenge_methods_supported: pkce,
    scopes_supported: scopes,
    end_session_endpoint: endSession,
  } = metadata;
  const missing = Object.entries({ authorization_endpoint: authorization, token_endpoint: token, jwks_uri: keys })
    .filter(([, value]) => value === undefined)
    .map(([name]) => name);
  if (missing.length > 0) {
    return fail(`its metadata lack ${missing.join(', ')}`, 'Correct DOCKET_OIDC_ISSUER: is it an OpenID provider?');
  }
  const requested = requestedScopes(settings, scopes);
  const unknown = scopes === undefined ? [] : requested.filter((scope) => !scopes.includes(scope));
  if (unknown.length > 0) {
    return warn(`it does not list the scopes ${unknown.join(', ')}`, 'Correct DOCKET_OIDC_SCOPES if a sign-in fails.');
  }
  if (pkce !== undefined && !pkce.includes('S256')) {
    return warn('it does not list PKCE with S256', 'Docket sends it anyway; look for a newer version of the provider.');
  }
  const signOut = endSession === undefined ? 'without a sign-out page of its own' : 'with a sign-out page of its own';
  return ok(`${settings.issuer}, scopes ${requested.join(' ')}, ${signOut}`);
}

/** Redeems a made-up refresh token. The provider only refuses the token after it has accepted the client. */
async function checkClient(provider: IdentityProvider): Promise<CheckResult> {
  const claims = { subject: 'docket doctor', emailVerified: false, groups: [], groupsOmitted: false };
  try {
    await provider.refresh(`docket-doctor-${randomBytes(16).toString('hex')}`, claims);
  } catch (thrown) {
    if (thrown instanceof DocketError && thrown.code === 'oidc.refused') return ok('its id and secret are accepted');
    return resultOfError(thrown);
  }
  return warn('the provider accepted a made-up refresh token', 'Do not use this provider.');
}

/** Requests a sign-in without interaction. A provider redirects such a request only to a registered URL. */
async function checkRedirect(provider: IdentityProvider, fetch: Fetch): Promise<CheckResult> {
  const url = await provider.authorizationUrl(newFlowChecks());
  url.searchParams.set('prompt', 'none');
  try {
    const response = await fetch(url.href, { method: 'GET', headers: {}, redirect: 'manual' });
    return evaluateRedirect(provider.redirectUrl, {
      status: response.status,
      location: response.headers.get('location'),
    });
  } catch (thrown) {
    return fail(`the sign-in page does not answer (${errorMessage(thrown)})`, 'Check the network to the provider.');
  }
}

/** @param response of the authorization endpoint to a request without interaction */
export function evaluateRedirect(
  redirectUrl: string,
  { status, location }: { readonly status: number; readonly location: string | null },
): CheckResult {
  if (location?.startsWith(`${redirectUrl}?`)) {
    const error = new URL(location).searchParams.get('error');
    const isAboutClient = error !== null && ['invalid_scope', 'unauthorized_client', 'invalid_request'].includes(error);
    return isAboutClient
      ? fail(`${redirectUrl} is registered, but a sign-in fails: ${error}`, 'Correct the client at the provider.')
      : ok(redirectUrl);
  }
  if (status >= 400) {
    return fail(
      `the provider does not accept ${redirectUrl} (HTTP ${status})`,
      'Register exactly this URL for the client, or correct DOCKET_OIDC_REDIRECT_URL.',
    );
  }
  return warn(
    `the provider does not say whether it accepts ${redirectUrl} (HTTP ${status})`,
    'Sign in once to see; register exactly this URL for the client.',
  );
}

/** @param mode of the file; only its permission bits are used */
export function evaluateAccounts(count: number, mode: number): CheckResult {
  const entries = `${count} ${count === 1 ? 'entry' : 'entries'}`;
  if ((mode & 0o022) !== 0) {
    return warn(
      `${entries}, and other users can write the file: they can give themselves access`,
      'Run `chmod go-w` on it.',
    );
  }
  return count === 0
    ? warn('no entry: no account has access', 'Add entries as docs/how-to/reverse-proxy-sign-in.md shows.')
    : ok(entries);
}

const checkFile = (path: string): Promise<Finding> =>
  runCheck('File of accounts', async () => {
    const entries = await readAccounts(path);
    return evaluateAccounts(entries.length, (await stat(path)).mode);
  });
