import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { hasExpired, type TokenEntry } from '../../../src/admin/auth/tokens.ts';
import { type AuthApp, cookieClient, createToken, openAuthApp } from '../../support/authenticated-app.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

const HOUR = 3_600_000;

describe('a session of the page', () => {
  const ann = createToken('ann', { orgs: ['acme'] });
  const prefix = randomPrefix();
  let redis: Redis;
  let entries: readonly TokenEntry[];
  let authApp: AuthApp;
  beforeAll(() => {
    redis = new Redis(inject('redisUrl'));
  });
  afterAll(() => redis.quit());
  beforeEach(() => {
    entries = [ann.entry];
    authApp = openAuthApp({ redis, prefix }, { entries: () => entries });
  });
  const keys = () => redis.keys(`${prefix}:session:*`);

  it('begins with a token and admits the browser by its cookie', async () => {
    const browser = cookieClient(authApp);
    expect((await browser.send('GET', '/page')).headers.get('location')).toBe('/sign-in');
    const { response, outcome } = await browser.signIn(ann.token);
    expect(outcome).toMatchObject({
      signedIn: true,
      session: { principal: { name: 'ann', role: 'operator', orgs: ['acme'], from: '127.0.0.1' } },
    });
    expect(response.headers.get('set-cookie')).toMatch(
      /^docket=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const page = await browser.send('GET', '/page');
    expect([page.status, await page.text()]).toEqual([200, '<p>ann</p>']);
    expect(authApp.told).toEqual([{ event: 'session.opened', who: 'ann', from: '127.0.0.1' }]);
  });

  it('has a __Host- cookie that only TLS carries, behind a trusted proxy with TLS', async () => {
    const behind = openAuthApp(
      { redis, prefix },
      { entries: () => entries, proxies: '10.0.0.0/8', names: ['docket.example.com'] },
    );
    const browser = cookieClient(behind, { host: 'docket.example.com', remote: '10.0.0.1' });
    const forwarded = { 'x-forwarded-for': '192.0.2.7', 'x-forwarded-proto': 'https' };
    const { response, outcome } = await browser.signIn(ann.token, forwarded);
    expect(outcome.session.principal.from).toBe('192.0.2.7');
    expect(response.headers.get('set-cookie')).toMatch(
      /^__Host-docket=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    expect((await browser.send('GET', '/page', { headers: forwarded })).status).toBe(200);
    // Any host of the same domain could set a cookie without the prefix.
    const id = browser.jar.get('__Host-docket') ?? '';
    const plain = await behind.app.request(
      '/page',
      { headers: { host: 'docket.example.com', cookie: `docket=${id}`, ...forwarded } },
      { incoming: { socket: { remoteAddress: '10.0.0.1' } } },
    );
    expect(plain.status).toBe(303);
  });

  it.each(['', 'null', '{"mark":1}', '{"mark":"a","began":1e300,"seen":1}', '[[[['])(
    'that is stored as %j is invalid, and signing in again works',
    async (text) => {
      const browser = cookieClient(authApp);
      await browser.signIn(ann.token);
      for (const key of await keys()) await redis.set(key, text);
      expect((await browser.send('GET', '/page')).headers.get('location')).toBe('/sign-in');
      expect((await browser.signIn(ann.token)).outcome).toMatchObject({ signedIn: true });
    },
  );

  it('does not begin without TLS', async () => {
    const open = openAuthApp({ redis, prefix }, { entries: () => entries, names: ['docket.example.com'] });
    for (const host of ['docket.example.com', '192.0.2.1:8787']) {
      const browser = cookieClient(open, { host, remote: '192.0.2.7' });
      const { outcome } = await browser.signIn(ann.token, { 'x-forwarded-proto': 'https' });
      expect(outcome).toEqual({ signedIn: false, why: 'insecure' });
      expect(browser.jar.size).toBe(0);
    }
  });

  it('works in every process with the same Redis, which stores neither cookie nor token', async () => {
    const browser = cookieClient(authApp);
    await browser.signIn(ann.token);
    const other = openAuthApp({ redis, prefix }, { entries: () => entries });
    const response = await other.app.request('/page', {
      headers: { host: 'localhost', cookie: `docket=${browser.jar.get('docket')}` },
    });
    expect(response.status).toBe(200);
    const kept = await Promise.all((await keys()).map((key) => redis.get(key)));
    const text = JSON.stringify([await keys(), kept]);
    for (const secret of [browser.jar.get('docket'), ann.token, ann.entry.sha256]) expect(text).not.toContain(secret);
  });

  it('gets a new id at every sign-in, which ends the previous session, so that nobody can plant an id', async () => {
    const browser = cookieClient(authApp);
    browser.jar.set('docket', 'A'.repeat(43));
    await browser.signIn(ann.token);
    const first = browser.jar.get('docket');
    expect(first).not.toBe('A'.repeat(43));
    await browser.signIn(ann.token);
    expect(browser.jar.get('docket')).not.toBe(first);
    const old = await authApp.app.request('/page', { headers: { host: 'localhost', cookie: `docket=${first}` } });
    expect(old.status).toBe(303);
  });

  it('ends when its user signs out, also for a copied cookie', async () => {
    const browser = cookieClient(authApp);
    const { outcome } = await browser.signIn(ann.token);
    const copied = browser.jar.get('docket');
    await browser.send('POST', '/page/sign-out', { body: { csrf: outcome.session.csrf } });
    expect(browser.jar.size).toBe(0);
    const again = await authApp.app.request('/page', { headers: { host: 'localhost', cookie: `docket=${copied}` } });
    expect(again.status).toBe(303);
    expect(authApp.told.map(({ event }) => event)).toEqual(['session.opened', 'session.closed']);
  });

  it('ends when its token is revoked, and stays ended when a token of the same name is created', async () => {
    const browser = cookieClient(authApp);
    await browser.signIn(ann.token);
    entries = [createToken('ann').entry];
    expect((await browser.send('GET', '/page')).status).toBe(303);
    entries = [ann.entry];
    expect((await browser.send('GET', '/page')).status).toBe(303);
  });

  it('ends when its token expires', async () => {
    entries = [{ ...ann.entry, expires: '2026-11-18' }];
    const browser = cookieClient(authApp);
    await browser.signIn(ann.token);
    authApp.clock.advance(1.5 * HOUR);
    expect((await browser.send('GET', '/page')).status).toBe(200);
    for (let n = 0; n < 7; n += 1) {
      authApp.clock.advance(1.5 * HOUR);
      await browser.send('GET', '/page');
    }
    expect(entries.map((entry) => hasExpired(entry, authApp.clock.now()))).toEqual([true]);
    expect((await browser.send('GET', '/page')).status).toBe(303);
  });

  it('takes over changes of its token', async () => {
    const browser = cookieClient(authApp);
    await browser.signIn(ann.token);
    entries = [{ ...ann.entry, role: 'viewer' }];
    const response = await browser.send('GET', '/api/thing');
    expect(await response.json()).toMatchObject({ principal: { role: 'viewer' }, session: true, still: true });
  });

  it('ends after two hours without a request by a person', async () => {
    const browser = cookieClient(authApp);
    await browser.signIn(ann.token);
    authApp.clock.advance(1.9 * HOUR);
    expect((await browser.send('GET', '/page')).status).toBe(200);
    authApp.clock.advance(1.9 * HOUR);
    expect((await browser.send('GET', '/page')).status).toBe(200);
    authApp.clock.advance(1.9 * HOUR);
    // A request that the page makes by itself does not count.
    expect((await browser.send('GET', '/api/thing', { headers: { 'sec-fetch-mode': 'cors' } })).status).toBe(200);
    authApp.clock.advance(0.1 * HOUR);
    expect((await browser.send('GET', '/page')).status).toBe(303);
  });

  it('ends after twelve hours, even in use', async () => {
    const browser = cookieClient(authApp);
    await browser.signIn(ann.token);
    for (let n = 0; n < 11; n += 1) {
      authApp.clock.advance(HOUR);
      expect((await browser.send('GET', '/page')).status).toBe(200);
    }
    authApp.clock.advance(HOUR);
    expect((await browser.send('GET', '/page')).status).toBe(303);
  });

  it('is stored in Redis no longer than it can last', async () => {
    const before = new Set(await keys());
    await cookieClient(authApp).signIn(ann.token);
    const [key = ''] = (await keys()).filter((one) => !before.has(one));
    const ms = await redis.pttl(key);
    expect(ms).toBeGreaterThan(0);
    expect(ms).toBeLessThanOrEqual(2 * HOUR);
  });

  it.each([
    ['an unknown token', () => createToken('ann').token, {}, 'unknown'],
    ['the hash of a token', () => ann.entry.sha256, {}, 'unknown'],
    ['an empty token', () => '', {}, 'unknown'],
    ['a form of another site', () => ann.token, { 'sec-fetch-site': 'cross-site' }, 'cross_site'],
    ['a form of another host of the same domain', () => ann.token, { 'sec-fetch-site': 'same-site' }, 'cross_site'],
  ])('does not begin with %s', async (_, token, headers, why) => {
    const browser = cookieClient(authApp);
    const { outcome } = await browser.signIn(token(), headers);
    expect(outcome).toMatchObject({ signedIn: false, why });
    expect(browser.jar.size).toBe(0);
  });

  it('throttles an address that guesses, and logs that without the guessed tokens', async () => {
    const browser = cookieClient(authApp, { remote: '192.0.2.9' });
    const guesses = Array.from({ length: 10 }, (_, n) => `docket_guess${n}`);
    for (const guess of guesses.slice(0, 9)) {
      expect((await browser.signIn(guess)).outcome).toEqual({ signedIn: false, why: 'unknown' });
    }
    expect((await browser.signIn('docket_guess9')).outcome).toEqual({
      signedIn: false,
      why: 'throttled',
      retryAfterS: 60,
    });
    expect((await cookieClient(authApp).signIn('other')).outcome).toMatchObject({ why: 'unknown' });
    expect((await browser.signIn(ann.token)).outcome).toMatchObject({ signedIn: true });
    expect(authApp.log.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', event: 'token.refused', from: '192.0.2.9', path: '/sign-in' }),
    );
    expect(JSON.stringify(authApp.log.lines)).not.toContain('docket_guess');
    // Ten lines, and one of another address: a client that continues to guess does not fill the log.
    for (let n = 0; n < 20; n += 1) await browser.signIn('docket_more');
    expect(authApp.log.lines.filter(({ event }) => event === 'token.refused')).toHaveLength(11);
  });
});
