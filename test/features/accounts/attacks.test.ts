import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { safeRedirectPath } from '../../../src/admin/page/routes/page-context.ts';
import {
  readClaims,
  signInAtProvider,
  signJwt,
  startIdentityProvider,
  type TestProvider,
} from '../../support/identity-provider.ts';
import { randomPrefix } from '../../support/queue-harness.ts';
import { type AccountPage, accountBrowser, CALLBACK_URL, openAccountPage } from './account-page.ts';

const ADA = { sub: 'ada', email: 'ada@acme.example', email_verified: true };
let redis: Redis;
let idp: TestProvider;
let page: AccountPage;
let prefix: string;
beforeAll(async () => {
  redis = new Redis(inject('redisUrl'));
  idp = await startIdentityProvider({ redirectUrls: [CALLBACK_URL], accounts: [ADA, { sub: 'eve' }] });
});
afterAll(async () => {
  await idp.close();
  await redis.quit();
});
beforeEach(() => {
  prefix = randomPrefix();
  page = openAccountPage({ redis, prefix }, { ...idp, rules: () => [{ subject: 'ada', role: 'operator', orgs: '*' }] });
});
afterEach(() => {
  idp.faults.tokens = undefined;
});
const tokenRequests = () => idp.requests.filter((line) => line === 'POST /token').length;

describe('a callback of the sign-in', () => {
  it('from another browser is rejected without a request to the provider', async () => {
    const [ada, eve] = [accountBrowser(page), accountBrowser(page)];
    const stolen = await signInAtProvider(await ada.begin(), 'ada');
    const before = tokenRequests();
    expect((await eve.callback(stolen)).status).toBe(400);
    await eve.begin();
    expect((await eve.callback(stolen)).status).toBe(400);
    expect(tokenRequests()).toBe(before);
    expect(eve.jar.has('docket')).toBe(false);
  });

  it('with a stolen code and the thief’s own state is rejected, since the code needs its verifier', async () => {
    const [ada, eve] = [accountBrowser(page), accountBrowser(page)];
    const code = (await signInAtProvider(await ada.begin(), 'ada')).searchParams.get('code') ?? '';
    const own = await signInAtProvider(await eve.begin(), 'eve');
    own.searchParams.set('code', code);
    expect((await eve.callback(own)).status).toBe(403);
    expect(eve.jar.has('docket')).toBe(false);
  });

  it('cannot sign a victim in as the attacker', async () => {
    const [victim, eve] = [accountBrowser(page), accountBrowser(page)];
    const ofEve = await signInAtProvider(await eve.begin(), 'ada');
    await victim.begin();
    expect((await victim.callback(ofEve)).status).toBe(400);
    expect(victim.jar.has('docket')).toBe(false);
  });

  it('works once: its URL is rejected the second time, even with the cookie of the sign-in', async () => {
    const browser = accountBrowser(page);
    const url = await signInAtProvider(await browser.begin(), 'ada');
    const flow = browser.jar.get('docket-sign-in') ?? '';
    expect((await browser.callback(url)).status).toBe(200);
    browser.jar.clear();
    expect((await browser.callback(url)).status).toBe(400);
    browser.jar.set('docket-sign-in', flow);
    expect((await browser.callback(url)).status).toBe(403);
    expect(browser.jar.has('docket')).toBe(false);
  });

  it('is rejected after ten minutes, with a forged cookie, and with two states', async () => {
    const browser = accountBrowser(page);
    const url = await signInAtProvider(await browser.begin(), 'ada');
    const flow = browser.jar.get('docket-sign-in') ?? '';
    browser.jar.set('docket-sign-in', `${flow.slice(0, -4)}AAAA`);
    expect((await browser.callback(url)).status).toBe(400);
    browser.jar.set('docket-sign-in', flow);
    const twice = new URL(url);
    twice.searchParams.append('state', 'other');
    expect((await browser.callback(twice)).status).toBe(400);
    const none = new URL(url);
    none.searchParams.delete('state');
    expect((await browser.callback(none)).status).toBe(400);
    page.clock.advance(10 * 60_000);
    expect((await browser.callback(url)).status).toBe(400);
  });

  it('with an error shows the error only to the browser that started the sign-in', async () => {
    const browser = accountBrowser(page);
    const { searchParams } = await browser.begin();
    const url = new URL(CALLBACK_URL);
    url.search = new URLSearchParams({
      error: 'access_denied',
      error_description: '<script>alert(1)</script> call 555',
      state: searchParams.get('state') ?? '',
      iss: idp.issuer,
    }).toString();
    const stranger = await accountBrowser(page).callback(url);
    expect([stranger.status, (await stranger.text()).includes('555')]).toEqual([400, false]);
    const response = await browser.callback(url);
    const html = await response.text();
    expect(response.status).toBe(403);
    expect(html).toContain('access_denied: &lt;script&gt;');
    expect(html).not.toContain('<script>alert');
  });

  it('from another issuer (RFC 9207) is rejected', async () => {
    const browser = accountBrowser(page);
    const url = await signInAtProvider(await browser.begin(), 'ada');
    url.searchParams.set('iss', 'https://login.example');
    expect((await browser.callback(url)).status).toBe(502);
    expect(browser.jar.has('docket')).toBe(false);
  });

  it('is throttled for an address that keeps trying', async () => {
    const browser = accountBrowser(page);
    const url = new URL(`${CALLBACK_URL}?code=x&state=y`);
    const statuses = [];
    for (let attempt = 0; attempt < 12; attempt += 1) statuses.push((await browser.callback(url)).status);
    expect(statuses).toEqual([...Array<number>(9).fill(400), 429, 429, 429]);
    expect((await browser.signIn('ada')).status).toBe(200);
  });
});

describe('an ID token', () => {
  const now = Math.floor(Date.now() / 1_000);
  it.each([
    ['for another client', { aud: 'other' }],
    ['for several clients, none of which is the authorized party', { aud: ['docket', 'other'], azp: 'other' }],
    ['from another issuer', { iss: 'https://login.example' }],
    ['that has expired', { iat: now - 900, exp: now - 600 }],
    ['from the future', { nbf: now + 600 }],
    ['with the nonce of another sign-in', { nonce: 'other' }],
    ['without a nonce', { nonce: undefined }],
    ['without a subject', { sub: undefined }],
  ])('%s signs nobody in', async (_, change) => {
    idp.faults.tokens = (json, key) => ({
      ...json,
      id_token: signJwt({ ...readClaims(String(json.id_token)), ...change }, key),
    });
    const browser = accountBrowser(page);
    expect((await browser.signIn('ada')).status).toBe(502);
    expect(browser.jar.has('docket')).toBe(false);
    expect(await redis.keys(`${prefix}:session:*`)).toEqual([]);
  });

  it.each([
    [
      'a signature of another key',
      (claims: unknown, key: Parameters<typeof signJwt>[1]) => signJwt(claims, { ...idp.otherKey(), kid: key.kid }),
    ],
    [
      'no signature',
      (claims: unknown, key: Parameters<typeof signJwt>[1]) =>
        signJwt(claims, key, { alg: 'none' }).replace(/[^.]*$/, ''),
    ],
    [
      'the algorithm of a shared secret',
      (claims: unknown, key: Parameters<typeof signJwt>[1]) => signJwt(claims, key, { alg: 'HS256' }),
    ],
    ['a missing value', () => undefined],
  ] as const)('with %s signs nobody in', async (_, forge) => {
    idp.faults.tokens = (json, key) => ({ ...json, id_token: forge(readClaims(String(json.id_token)), key) });
    const browser = accountBrowser(page);
    expect((await browser.signIn('ada')).status).toBe(502);
    expect(browser.jar.has('docket')).toBe(false);
  });
});

describe('an attacker who can write to Redis', () => {
  it('cannot copy a session to another id, create one, or change its account', async () => {
    const browser = accountBrowser(page);
    await browser.signIn('ada');
    const keyOf = (id: string) => `${prefix}:session:${createHash('sha256').update(id).digest('hex')}`;
    const mine = keyOf(browser.jar.get('docket') ?? '');
    const own = 'A'.repeat(43);
    for (const end of ['', ':account']) await redis.copy(`${mine}${end}`, `${keyOf(own)}${end}`);
    const thief = accountBrowser(page);
    thief.jar.set('docket', own);
    expect((await thief.me()).status).toBe(401);
    const stored = (await redis.get(`${mine}:account`)) ?? '';
    await redis.set(`${mine}:account`, `${stored.slice(0, 40)}AAAA${stored.slice(44)}`);
    expect((await browser.me()).status).toBe(401);
  });

  it('cannot use a session without the secret of the client', async () => {
    const browser = accountBrowser(page);
    await browser.signIn('ada');
    const other = openAccountPage(
      { redis, prefix },
      { ...idp, secret: 'another', rules: () => [{ subject: 'ada', role: 'operator', orgs: '*' }] },
    );
    const same = accountBrowser(other);
    same.jar.set('docket', browser.jar.get('docket') ?? '');
    expect((await same.me()).status).toBe(401);
  });
});

describe('the path to continue at', () => {
  const TARGETS = [
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '/.//evil.example',
    '\\/evil.example',
    'javascript:alert(1)',
    '/\tevil',
    '/sign-out',
    '/sign-in/account',
    `/${'a'.repeat(2_000)}`,
  ];
  it.each(TARGETS)('leads to no other site: %s', async (to) => {
    const browser = accountBrowser(page);
    const html = await (await browser.signIn('ada', to)).text();
    expect(html).toContain('content="0; url=/"');
    expect(new URL(safeRedirectPath(to), CALLBACK_URL).origin).toBe(new URL(CALLBACK_URL).origin);
  });

  it('leads to no other site if the cookie of the sign-in was changed', async () => {
    const browser = accountBrowser(page);
    const url = await signInAtProvider(await browser.begin('/runs'), 'ada');
    const flow = Buffer.from(browser.jar.get('docket-sign-in') ?? '', 'base64url').toString('utf8');
    const changed = flow.replace('"/runs"', '"https://evil.example/"');
    expect(changed).not.toBe(flow);
    browser.jar.set('docket-sign-in', Buffer.from(changed).toString('base64url'));
    expect(await (await browser.callback(url)).text()).toContain('content="0; url=/"');
  });

  it('adds no markup to the page', async () => {
    const browser = accountBrowser(page);
    const html = await (await browser.signIn('ada', '/runs?org="><script>alert(1)</script>')).text();
    expect(html).not.toContain('<script>alert');
  });
});

it('a sign-in starts only where its cookies are protected, at the origin that the provider redirects to', async () => {
  const url = 'https://docket.example.com/sign-in/callback';
  const behind = openAccountPage({ redis, prefix }, { ...idp, redirectUrl: url, rules: () => [] });
  const browser = accountBrowser(behind);
  const elsewhere = await browser.send('GET', '/sign-in/account?to=/runs');
  expect(elsewhere.headers.get('location')).toBe('https://docket.example.com/sign-in/account?to=%2Fruns&at=home');
  expect(elsewhere.headers.getSetCookie()).toEqual([]);
  const plain = await browser.send('GET', '/sign-in/account?at=home', { headers: { host: '192.0.2.1:8787' } });
  expect([plain.status, plain.headers.getSetCookie()]).toEqual([403, []]);
});
