import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type AuthApp, cookieClient, createToken, openAuthApp } from '../../support/authenticated-app.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

describe('a request that changes something', () => {
  const ann = createToken('ann');
  let redis: Redis;
  let authApp: AuthApp;
  let browser: ReturnType<typeof cookieClient>;
  let csrf: string;
  beforeAll(async () => {
    redis = new Redis(inject('redisUrl'));
    authApp = openAuthApp({ redis, prefix: randomPrefix() }, { entries: () => [ann.entry] });
    browser = cookieClient(authApp);
    csrf = (await browser.signIn(ann.token)).outcome.session.csrf;
  });
  afterAll(() => redis.quit());

  it('is accepted on the page with the CSRF token of the session, in the form or in the header', async () => {
    const form = await browser.send('POST', '/page/act', { body: { csrf, what: 'pause' } });
    expect([form.status, await form.json()]).toEqual([200, { csrf, what: 'pause' }]);
    const header = await browser.send('POST', '/page/act', { headers: { 'x-csrf-token': csrf } });
    expect(header.status).toBe(200);
  });

  it('is accepted by the API for a session with the header', async () => {
    const response = await browser.send('POST', '/api/thing', { headers: { 'x-csrf-token': csrf } });
    expect(await response.json()).toMatchObject({ principal: { name: 'ann' }, session: true });
  });

  it('needs no CSRF token with a bearer token, which browsers never send by themselves', async () => {
    const response = await authApp.app.request('/api/thing', {
      method: 'POST',
      headers: { host: 'localhost', authorization: `Bearer ${ann.token}` },
    });
    expect(await response.json()).toMatchObject({ principal: { name: 'ann' }, session: false, still: true });
  });

  const other = async () => (await cookieClient(authApp).signIn(ann.token)).outcome.session.csrf;
  it.each([
    ['without its CSRF token', async () => ({ body: { what: 'pause' } })],
    ['with the CSRF token of another session', async () => ({ body: { csrf: await other() } })],
    ['with a shortened CSRF token', async () => ({ body: { csrf: csrf.slice(1) } })],
    ['with an empty CSRF token', async () => ({ body: { csrf: '' } })],
    ['from another site', async () => ({ body: { csrf }, headers: { 'sec-fetch-site': 'cross-site' } })],
    ['from another host of the domain', async () => ({ body: { csrf }, headers: { 'sec-fetch-site': 'same-site' } })],
    ['with Sec-Fetch-Site: none', async () => ({ body: { csrf }, headers: { 'sec-fetch-site': 'none' } })],
    [
      'as plain text that reads like a form',
      async () => ({ body: `csrf=${csrf}`, headers: { 'content-type': 'text/plain' } }),
    ],
  ])('is rejected on the page %s', async (_, sent) => {
    const response = await browser.send('POST', '/page/act', await sent());
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ code: 'auth.cross_site' });
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
    'is rejected by the API for a session without the header: %s',
    async (method) => {
      for (const headers of [{}, { 'x-csrf-token': 'x' }, { 'x-csrf-token': csrf, 'sec-fetch-site': 'cross-site' }]) {
        const response = await browser.send(method, '/api/thing', { headers });
        expect(response.status).toBeGreaterThanOrEqual(401);
      }
    },
  );

  it('is checked by its Origin header when the browser sends no Sec-Fetch-Site', async () => {
    const post = (headers: Readonly<Record<string, string>>) =>
      authApp.app.request('/page/act', {
        method: 'POST',
        headers: {
          host: 'localhost:8787',
          cookie: `docket=${browser.jar.get('docket')}`,
          'x-csrf-token': csrf,
          ...headers,
        },
      });
    expect((await post({ origin: 'http://localhost:8787' })).status).toBe(200);
    for (const origin of ['http://localhost:9999', 'http://evil.example', 'null', '']) {
      expect((await post({ origin })).status).toBe(403);
    }
    expect((await post({})).status).toBe(403);
  });

  it('needs a CSRF token, but reading does not; another site cannot read with the session', async () => {
    expect((await browser.send('GET', '/api/thing')).status).toBe(200);
    for (const site of ['cross-site', 'same-site']) {
      const response = await browser.send('GET', '/api/thing', { headers: { 'sec-fetch-site': site } });
      expect(response.status).toBe(401);
    }
  });

  it('is rejected with an invalid bearer token, even with a valid cookie', async () => {
    const response = await browser.send('GET', '/api/thing', { headers: { authorization: 'Bearer wrong' } });
    expect(response.status).toBe(401);
  });
});
