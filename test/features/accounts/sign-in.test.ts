import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import type { AccountRule } from '../../../src/features/accounts/account-access.ts';
import { createToken } from '../../support/authenticated-app.ts';
import {
  readClaims,
  signInAtProvider,
  signJwt,
  startIdentityProvider,
  type TestProvider,
} from '../../support/identity-provider.ts';
import { randomPrefix } from '../../support/queue-harness.ts';
import { type AccountPage, accountBrowser, CALLBACK_URL, openAccountPage, PAGE_ORIGIN } from './account-page.ts';

const ADA = { sub: 'ada', email: 'ada@acme.example', email_verified: true, groups: ['ops', 'staff'] };
const BOB = { sub: 'bob', email: 'ada@acme.example', email_verified: false, preferred_username: 'ops' };

let redis: Redis;
let idp: TestProvider;
const tokenOfOps = createToken('ops');
const prefix = randomPrefix();
let rules: readonly AccountRule[];
let page: AccountPage;
beforeAll(async () => {
  redis = new Redis(inject('redisUrl'));
  idp = await startIdentityProvider({
    redirectUrls: [CALLBACK_URL],
    signOutUrls: [`${PAGE_ORIGIN}/sign-in`],
    accounts: [ADA, BOB],
  });
});
afterAll(async () => {
  await idp.close();
  await redis.quit();
});
beforeEach(() => {
  rules = [{ email: 'ada@acme.example', role: 'operator', orgs: ['acme'] }];
  page = openAccountPage({ redis, prefix }, { ...idp, rules: () => rules, entries: [tokenOfOps.entry] });
});
afterEach(() => {
  for (const name of Object.keys(idp.faults) as (keyof typeof idp.faults)[]) delete idp.faults[name];
});
const sessionKeys = () => redis.keys(`${prefix}:session:*`);

describe('a sign-in with an account', () => {
  it('leads to the provider with PKCE, state and nonce, and back to the page where it started', async () => {
    const browser = accountBrowser(page);
    const url = await browser.begin('/runs?org=acme');
    expect(url.origin).toBe(idp.issuer);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      response_type: 'code',
      client_id: 'docket',
      redirect_uri: CALLBACK_URL,
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      scope: 'openid profile email offline_access',
    });
    const response = await browser.callback(await signInAtProvider(url, 'ada'));
    const html = await response.text();
    expect(response.status).toBe(200);
    expect(html).toContain('<meta http-equiv="refresh" content="0; url=/runs?org=acme"/>');
    expect((await browser.me()).body).toEqual({
      principal: {
        name: 'ada@acme.example',
        kind: 'account',
        subject: `${idp.issuer} ada`,
        role: 'operator',
        orgs: ['acme'],
        from: '127.0.0.1',
      },
      still: true,
    });
    expect(page.told).toEqual([
      { event: 'session.opened', who: 'ada@acme.example', account: `${idp.issuer} ada`, from: '127.0.0.1' },
    ]);
  });

  it('keeps its state in a cookie that no script can read, and deletes the cookie afterwards', async () => {
    const browser = accountBrowser(page);
    const response = await browser.send('GET', '/sign-in/account');
    const [cookie = ''] = response.headers.getSetCookie();
    expect(cookie).toMatch(/^docket-sign-in=[\w-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/);
    await browser.signIn('ada');
    expect([...browser.jar.keys()]).toEqual(['docket']);
  });

  it('is offered before the token', async () => {
    const html = await (await accountBrowser(page).send('GET', '/sign-in?to=/runs')).text();
    expect(html.indexOf('href="/sign-in/account?to=%2Fruns"')).toBeGreaterThan(0);
    expect(html.indexOf('name="token"')).toBeGreaterThan(html.indexOf('href="/sign-in/account'));
  });

  it('stores nothing usable: no tokens, session id or claims', async () => {
    let given: Record<string, unknown> = {};
    idp.faults.tokens = (json) => {
      given = json;
      return json;
    };
    const browser = accountBrowser(page);
    await browser.signIn('ada');
    const kept = JSON.stringify(await Promise.all((await sessionKeys()).map((key) => redis.get(key))));
    const { refresh_token: refresh, access_token: access } = given;
    expect(refresh).toBeTypeOf('string');
    for (const secret of [refresh, access, browser.jar.get('docket'), 'ada@acme.example', idp.secret]) {
      expect(kept).not.toContain(String(secret));
    }
    expect(JSON.stringify(page.log.lines)).not.toContain(String(refresh));
  });

  it('creates a session that older versions ignore', async () => {
    const browser = accountBrowser(page);
    await browser.signIn('ada');
    const keys = (await sessionKeys()).filter((key) => /:[0-9a-f]{64}$/.test(key));
    for (const key of keys) expect(JSON.parse((await redis.get(key)) ?? '')).not.toHaveProperty('mark');
  });

  it('ends at sign-out, and also ends the provider’s session and revokes the refresh token', async () => {
    const browser = accountBrowser(page);
    await browser.signIn('ada');
    const copied = browser.jar.get('docket') ?? '';
    const csrf = /name="csrf" value="([^"]+)"/.exec(await (await browser.send('GET', '/')).text())?.[1] ?? '';
    const response = await browser.send('POST', '/sign-out', { body: { csrf } });
    const html = await response.text();
    const url = new URL(/content="0; url=([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? 'data:,none');
    expect(url.origin + url.pathname).toBe(`${idp.issuer}/session/end`);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: 'docket',
      post_logout_redirect_uri: `${PAGE_ORIGIN}/sign-in`,
    });
    expect(idp.requests).toContain('POST /token/revocation');
    expect(browser.jar.size).toBe(0);
    browser.jar.set('docket', copied);
    expect((await browser.me()).status).toBe(401);
    expect(page.told.map(({ event }) => event)).toEqual(['session.opened', 'session.closed']);
  });
});

describe('an account without access', () => {
  it('sees the rejected account, and what an administrator can do', async () => {
    rules = [];
    const browser = accountBrowser(page);
    const response = await browser.signIn('ada');
    const html = await response.text();
    expect(response.status).toBe(403);
    for (const text of [
      'data-problem="no_access"',
      'ada@acme.example',
      idp.issuer,
      'ops, staff',
      '- subject: &quot;ada&quot;',
    ])
      expect(html).toContain(text);
    expect(browser.jar.has('docket')).toBe(false);
    expect(page.told).toEqual([]);
    expect(page.log.lines).toContainEqual(
      expect.objectContaining({ event: 'session.refused', who: 'ada@acme.example' }),
    );
  });

  it('gets no access by somebody else’s unverified address, and never the plain name of another account', async () => {
    expect((await accountBrowser(page).signIn('bob')).status).toBe(403);
    rules = [{ subject: 'bob', role: 'viewer', orgs: '*' }];
    const browser = accountBrowser(page);
    await browser.signIn('bob');
    const { principal } = (await browser.me()).body as { principal: { name: string } };
    expect(principal.name).toMatch(/^ada@acme\.example \([0-9a-f]{12}\)$/);
  });

  it('loses a running session with the next request', async () => {
    const browser = accountBrowser(page);
    await browser.signIn('ada');
    rules = [];
    expect((await browser.me()).status).toBe(401);
    rules = [{ email: 'ada@acme.example', role: 'operator', orgs: '*' }];
    expect((await browser.me()).status).toBe(401);
  });
});

describe('a provider', () => {
  it('that does not answer is reported on the page, where tokens still work', async () => {
    idp.faults.down = true;
    const browser = accountBrowser(page);
    const response = await browser.send('GET', '/sign-in/account?to=/runs');
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    const html = await response.text();
    expect(html).toContain('name="token"');
    expect(html).not.toContain('ECONN');
    const withToken = await browser.send('POST', '/sign-in', { body: { token: tokenOfOps.token } });
    expect(withToken.status).toBe(303);
    expect((await browser.me()).body).toMatchObject({ principal: { kind: 'token', subject: 'token:ops' } });
  });

  it('that fails or times out during the callback is reported as well', async () => {
    const slow = openAccountPage({ redis, prefix }, { ...idp, rules: () => rules, timeoutMs: 200 });
    const browser = accountBrowser(slow);
    const first = await signInAtProvider(await browser.begin(), 'ada');
    idp.faults.down = true;
    expect((await browser.callback(first)).status).toBe(503);
    idp.faults.down = false;
    const second = await signInAtProvider(await browser.begin(), 'ada');
    idp.faults.hangs = true;
    expect((await browser.callback(second)).status).toBe(503);
    idp.faults.hangs = false;
    expect((await browser.signIn('ada')).status).toBe(200);
  });

  it('that rotates its keys is trusted at once, and its old keys are not', async () => {
    const browser = accountBrowser(page);
    await browser.signIn('ada');
    let old: Parameters<typeof signJwt>[1] | undefined;
    idp.faults.tokens = (json, key) => {
      old = key;
      return json;
    };
    await accountBrowser(page).signIn('ada');
    idp.rotateKeys();
    idp.faults.tokens = undefined;
    expect((await accountBrowser(page).signIn('ada')).status).toBe(200);
    idp.faults.tokens = (json) => ({
      ...json,
      ...(old === undefined ? {} : { id_token: signJwt(readClaims(String(json.id_token)), old) }),
    });
    expect((await accountBrowser(page).signIn('ada')).status).toBe(502);
  });
});
