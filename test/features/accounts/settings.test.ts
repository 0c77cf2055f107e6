import { describe, expect, it } from 'vitest';
import { readConfig } from '../../../src/base/config/config.ts';
import { OIDC_CONFIG, oidcSettings } from '../../../src/features/accounts/settings.ts';

const WHOLE = {
  DOCKET_OIDC_ISSUER: 'https://login.example/tenant',
  DOCKET_OIDC_CLIENT_ID: 'docket',
  DOCKET_OIDC_CLIENT_SECRET: 'file:/run/secrets/oidc',
  DOCKET_OIDC_ACCOUNTS: 'accounts.yaml',
  DOCKET_PUBLIC_URL: 'https://docket.example.com',
};
const faults = (env: Readonly<Record<string, string | undefined>>): string => {
  try {
    readConfig(env, [OIDC_CONFIG]);
    return '';
  } catch (error) {
    return String(error);
  }
};

describe('the variables of the sign-in', () => {
  it('are complete with issuer, client, secret, redirect URL and a source of access', () => {
    expect(oidcSettings(readConfig(WHOLE, [OIDC_CONFIG]))).toEqual({
      issuer: 'https://login.example/tenant',
      clientId: 'docket',
      clientSecret: { file: '/run/secrets/oidc' },
      redirectUrl: 'https://docket.example.com/sign-in/callback',
      scopes: undefined,
      rolesClaim: 'groups',
      claimGrantsAccess: false,
      accounts: 'accounts.yaml',
    });
    expect(oidcSettings(readConfig({ DOCKET_PUBLIC_URL: WHOLE.DOCKET_PUBLIC_URL }, [OIDC_CONFIG]))).toBeUndefined();
  });

  it.each([
    'DOCKET_OIDC_ISSUER',
    'DOCKET_OIDC_CLIENT_ID',
    'DOCKET_OIDC_CLIENT_SECRET',
    'DOCKET_OIDC_ACCOUNTS',
    'DOCKET_PUBLIC_URL',
  ])('are rejected without %s', (name) => {
    expect(faults({ ...WHOLE, [name]: undefined })).toContain(name);
  });

  it.each([
    ['DOCKET_OIDC_ISSUER', 'http://login.example'],
    ['DOCKET_OIDC_ISSUER', 'https://user:hunter2@login.example'],
    ['DOCKET_OIDC_ISSUER', 'https://login.example?x=1'],
    ['DOCKET_OIDC_ISSUER', 'login.example'],
    ['DOCKET_OIDC_REDIRECT_URL', 'http://docket.example.com/sign-in/callback'],
    ['DOCKET_OIDC_REDIRECT_URL', 'https://docket.example.com/elsewhere'],
    ['DOCKET_OIDC_CLIENT_SECRET', 'hunter2hunter2'],
    ['DOCKET_OIDC_SCOPES', 'profile email'],
    ['DOCKET_PUBLIC_URL', 'http://docket.example.com'],
  ])('reject %s=%s without repeating a secret', (name, value) => {
    const text = faults({ ...WHOLE, [name]: value });
    expect(text).toContain(name);
    expect(text).not.toContain('hunter2');
  });

  it.each(['http://localhost:9000', 'http://127.0.0.1:9000', 'http://[::1]:9000/realms/a'])(
    'accept %s on this machine',
    (url) => {
      expect(faults({ ...WHOLE, DOCKET_OIDC_ISSUER: url })).toBe('');
    },
  );

  it('set the scopes and the claim with roles, whose values then give access', () => {
    const config = readConfig({ ...WHOLE, DOCKET_OIDC_SCOPES: 'openid, email', DOCKET_OIDC_ROLES_CLAIM: 'roles' }, [
      OIDC_CONFIG,
    ]);
    expect(oidcSettings(config)).toMatchObject({
      scopes: ['openid', 'email'],
      rolesClaim: 'roles',
      claimGrantsAccess: true,
    });
  });
});
