import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import type { AccountRule } from '../../../src/features/accounts/account-access.ts';
import { readClaims, signJwt, startIdentityProvider, type TestProvider } from '../../support/identity-provider.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { NOW } from '../../support/page-data.ts';
import { randomPrefix } from '../../support/queue-harness.ts';
import { type AccountPage, accountBrowser, CALLBACK_URL, openAccountPage } from './account-page.ts';

const MINUTE = 60_000;
const account = { email: 'ada@acme.example', email_verified: true, groups: ['ops'] };
/** A poll of an open page, which no person caused. */
const POLL = { headers: { 'sec-fetch-mode': 'cors' } };

let redis: Redis;
let idp: TestProvider;
let prefix: string;
const rules: readonly AccountRule[] = [
  { group: 'ops', role: 'operator', orgs: ['acme'] },
  { group: 'staff', role: 'viewer', orgs: ['acme'] },
];
let page: AccountPage;
let browser: ReturnType<typeof accountBrowser>;
const open = (clock = manualClock(NOW)) => openAccountPage({ redis, prefix }, { ...idp, rules: () => rules, clock });
const refreshes = () => idp.requests.filter((line) => line === 'POST /token').length - 1;
const status = async (): Promise<number> => (await browser.send('GET', '/api/me', POLL)).status;
beforeAll(() => {
  redis = new Redis(inject('redisUrl'));
});
afterAll(() => redis.quit());
beforeEach(async () => {
  idp = await startIdentityProvider({ redirectUrls: [CALLBACK_URL], accounts: [{ sub: 'ada', ...account }] });
  prefix = randomPrefix();
  page = open();
  browser = accountBrowser(page);
  await browser.signIn('ada');
  return idp.close;
});

describe('a running session of an account', () => {
  it('is confirmed by the provider at least every 15 minutes, even if only polls arrive', async () => {
    for (let minute = 0; minute < 60; minute += 1) {
      page.clock.advance(MINUTE);
      expect(await status()).toBe(200);
    }
    expect(refreshes()).toBeGreaterThanOrEqual(4);
    expect(refreshes()).toBeLessThanOrEqual(6);
  });

  it('ends when the provider rejects the account', async () => {
    idp.accounts.delete('ada');
    page.clock.advance(9 * MINUTE);
    expect(await status()).toBe(200);
    page.clock.advance(2 * MINUTE);
    expect(await status()).toBe(401);
    expect(page.told.at(-1)).toMatchObject({ event: 'session.closed', who: 'ada@acme.example' });
    expect(await redis.keys(`${prefix}:session:*`)).toEqual([]);
    idp.accounts.set('ada', { sub: 'ada', ...account });
    expect(await status()).toBe(401);
  });

  it('ends when its refresh token is revoked', async () => {
    for (const id of idp.stored.keys()) if (id.startsWith('RefreshToken:')) idp.stored.delete(id);
    page.clock.advance(11 * MINUTE);
    expect(await status()).toBe(401);
  });

  it('takes over changes of the groups', async () => {
    idp.accounts.set('ada', { sub: 'ada', ...account, groups: ['staff'] });
    page.clock.advance(11 * MINUTE);
    expect((await browser.me()).body).toMatchObject({ principal: { role: 'viewer' }, still: true });
    idp.accounts.set('ada', { sub: 'ada', ...account, groups: [] });
    page.clock.advance(11 * MINUTE);
    expect(await status()).toBe(401);
  });

  it('survives a short outage of the provider, gives no access after 30 minutes, and continues afterwards', async () => {
    idp.faults.down = true;
    for (let minute = 0; minute < 29; minute += 1) {
      page.clock.advance(MINUTE);
      expect(await status()).toBe(200);
    }
    page.clock.advance(2 * MINUTE);
    expect(await status()).toBe(401);
    const form = await (await browser.send('GET', '/sign-in')).text();
    expect(form).toContain('role="alert"');
    idp.faults.down = false;
    page.clock.advance(MINUTE);
    expect(await status()).toBe(200);
  });

  it('asks an unresponsive provider at most once in 20 seconds, for all sessions', async () => {
    const other = accountBrowser(page);
    await other.signIn('ada');
    page.clock.advance(11 * MINUTE);
    idp.faults.down = true;
    idp.requests.length = 0;
    for (let poll = 0; poll < 6; poll += 1) {
      await status();
      await other.send('GET', '/api/me', POLL);
      page.clock.advance(3_000);
    }
    expect(idp.requests.length).toBe(1);
  });

  it.each(['invalid_client', 'server_error'])('survives %s, which is not about the account', async (error) => {
    idp.faults.refuses = { status: error === 'invalid_client' ? 401 : 400, error };
    page.clock.advance(16 * MINUTE);
    expect(await status()).toBe(200);
    page.clock.advance(16 * MINUTE);
    expect(await status()).toBe(401);
  });

  it.each([
    ['another account', { sub: 'eve' }, 401],
    ['another client', { aud: 'other' }, 200],
    ['another issuer', { iss: 'https://login.example' }, 200],
    ['the past', { exp: 1_000, iat: 900 }, 200],
  ])('ignores an ID token of %s', async (_, change, now) => {
    idp.faults.tokens = (json, key) => ({
      ...json,
      id_token: signJwt({ ...readClaims(String(json.id_token)), groups: ['staff'], ...change }, key),
    });
    page.clock.advance(16 * MINUTE);
    const { status: after, body } = await browser.me();
    expect(after).toBe(now);
    if (after === 200) expect(body).toMatchObject({ principal: { role: 'operator' } });
    page.clock.advance(15 * MINUTE);
    expect(await status()).toBe(401);
  });

  it('uses its refresh token once, even for simultaneous requests in several processes', async () => {
    const others = [page, open(page.clock), open(page.clock)].map((each) => {
      const same = accountBrowser(each);
      same.jar.set('docket', browser.jar.get('docket') ?? '');
      return same;
    });
    for (let round = 0; round < 3; round += 1) {
      page.clock.advance(11 * MINUTE);
      idp.requests.length = 0;
      const all = others.flatMap((each) => [each.me(), each.me(), each.me()]);
      expect((await Promise.all(all)).map((one) => one.status)).toEqual(all.map(() => 200));
      expect(idp.requests.filter((line) => line === 'POST /token').length).toBe(1);
    }
  });

  it('keeps its refresh token while a person uses the page', async () => {
    for (let step = 0; step < 8; step += 1) {
      page.clock.advance(6 * MINUTE);
      const both = await Promise.all([browser.send('GET', '/'), browser.me(), browser.send('GET', '/runs')]);
      expect(both.map(({ status: each }) => each)).toEqual([200, 200, 200]);
    }
  });

  it('ends after two hours with polls only', async () => {
    for (let minute = 0; minute < 119; minute += 7) {
      page.clock.advance(7 * MINUTE);
      await status();
    }
    page.clock.advance(2 * MINUTE);
    expect(await status()).toBe(401);
  });
});

it('a session without a refresh token ends after 15 minutes', async () => {
  idp.faults.tokens = ({ refresh_token: _, ...json }) => json;
  await browser.send('GET', '/');
  const short = accountBrowser(page);
  await short.signIn('ada');
  page.clock.advance(14 * MINUTE);
  expect((await short.me()).status).toBe(200);
  page.clock.advance(2 * MINUTE);
  expect((await short.me()).status).toBe(401);
  expect(page.log.lines).toContainEqual(expect.objectContaining({ level: 'warn', who: 'ada@acme.example' }));
});
