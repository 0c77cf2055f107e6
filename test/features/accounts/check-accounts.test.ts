import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { readConfig } from '../../../src/base/config/config.ts';
import { silentLog } from '../../../src/base/log.ts';
import {
  checkAccounts,
  evaluateAccounts,
  evaluateMetadata,
  evaluateRedirect,
} from '../../../src/features/accounts/check-accounts.ts';
import { OIDC_CONFIG } from '../../../src/features/accounts/settings.ts';
import { startIdentityProvider, type TestProvider } from '../../support/identity-provider.ts';

const CALLBACK = 'http://localhost:8787/sign-in/callback';
let idp: TestProvider;
let folder: string;
let accounts: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-doctor-'));
  accounts = join(folder, 'accounts.yaml');
  await writeFile(accounts, '- subject: ada\n  role: viewer\n  orgs: [acme]\n');
  await chmod(accounts, 0o644);
  idp = await startIdentityProvider({ redirectUrls: [CALLBACK], accounts: [] });
});
afterAll(async () => {
  await idp.close();
  await rm(folder, { recursive: true });
});

const check = async (change: Readonly<Record<string, string>> = {}) => {
  const env = {
    DOCKET_OIDC_ISSUER: idp.issuer,
    DOCKET_OIDC_CLIENT_ID: 'docket',
    DOCKET_OIDC_CLIENT_SECRET: 'env:OIDC_SECRET',
    DOCKET_OIDC_REDIRECT_URL: CALLBACK,
    DOCKET_OIDC_ACCOUNTS: accounts,
    OIDC_SECRET: idp.secret,
    ...change,
  };
  const findings = await checkAccounts({
    config: readConfig(env, [OIDC_CONFIG]),
    env,
    clock: systemClock,
    log: silentLog,
  });
  return Object.fromEntries(findings.map(({ what, state }) => [what, state]));
};
const FINE = { 'OpenID provider': 'ok', 'OpenID client': 'ok', 'OpenID redirect URL': 'ok', 'File of accounts': 'ok' };

describe('docket doctor', () => {
  it('reports nothing about sign-in if no provider is configured', async () => {
    expect(
      await checkAccounts({ config: readConfig({}, [OIDC_CONFIG]), env: {}, clock: systemClock, log: silentLog }),
    ).toEqual([]);
  });

  it('checks issuer, client and redirect URL at the provider', async () => {
    expect(await check()).toEqual(FINE);
  });

  it.each([
    ['OpenID client', 'the secret', { OIDC_SECRET: 'another secret' }],
    ['OpenID redirect URL', 'the redirect URL', { DOCKET_OIDC_REDIRECT_URL: 'http://localhost:9/sign-in/callback' }],
  ])('reports a failure of %s if the provider does not know %s', async (what, _, change) => {
    expect(await check(change)).toEqual({ ...FINE, [what]: 'fail' });
  });

  it.each([
    ['does not answer', 'http://127.0.0.1:1'],
    ['has another name', 'other name'],
  ])('reports a failure for an issuer that %s', async (_, issuer) => {
    const other = issuer.startsWith('http') ? issuer : idp.issuer.replace('127.0.0.1', 'localhost');
    expect(await check({ DOCKET_OIDC_ISSUER: other })).toEqual({ 'OpenID provider': 'fail', 'File of accounts': 'ok' });
  });

  it('reports a missing secret, and an HTTPS address without a proxy that ends TLS', async () => {
    expect(await check({ OIDC_SECRET: '' })).toEqual({ 'OpenID client': 'fail' });
    const https = { DOCKET_OIDC_REDIRECT_URL: 'https://docket.example.com/sign-in/callback' };
    expect(await check(https)).toMatchObject({ 'OpenID redirect URL': 'fail' });
  });
});

it('metadata without an endpoint is a failure, and without a scope or PKCE a warning', () => {
  const endpoints = { authorization_endpoint: 'x', token_endpoint: 'x', jwks_uri: 'x' };
  const settings = { issuer: 'https://login.example', scopes: undefined };
  const state = (metadata: object, scopes?: string[]) =>
    evaluateMetadata({ issuer: 'https://login.example', ...metadata }, { ...settings, scopes }).state;
  expect(state({})).toBe('fail');
  expect(state(endpoints)).toBe('ok');
  expect(state({ ...endpoints, scopes_supported: ['openid'] })).toBe('warn');
  expect(state({ ...endpoints, scopes_supported: ['openid'] }, ['openid'])).toBe('ok');
  expect(state({ ...endpoints, code_challenge_methods_supported: ['plain'] })).toBe('warn');
});

it('a redirect URL is accepted only if the provider redirects to it', () => {
  const state = (status: number, location: string | null) => evaluateRedirect(CALLBACK, { status, location }).state;
  expect(state(303, `${CALLBACK}?error=login_required`)).toBe('ok');
  expect(state(303, `${CALLBACK}?error=unauthorized_client`)).toBe('fail');
  expect(state(303, `${CALLBACK}.evil.example/?error=login_required`)).toBe('warn');
  expect(state(400, null)).toBe('fail');
  expect(state(200, null)).toBe('warn');
});

it('an empty file of accounts, or one that others may write, is a warning', () => {
  expect(
    [evaluateAccounts(2, 0o600), evaluateAccounts(0, 0o600), evaluateAccounts(1, 0o620)].map(({ state }) => state),
  ).toEqual(['ok', 'warn', 'warn']);
});
