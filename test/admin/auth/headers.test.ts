import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { DATA_POLICY, PAGE_POLICY, PREVIEW_POLICY } from '../../../src/admin/auth/headers.ts';
import { type AuthApp, cookieClient, createToken, openAuthApp } from '../../support/authenticated-app.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

describe('the headers of a response', () => {
  const ann = createToken('ann');
  let redis: Redis;
  let authApp: AuthApp;
  beforeAll(() => {
    redis = new Redis(inject('redisUrl'));
    authApp = openAuthApp({ redis, prefix: randomPrefix() }, { entries: () => [ann.entry], proxies: '10.0.0.0/8' });
  });
  afterAll(() => redis.quit());

  it('let a page load only files of this site, and let other responses load nothing', async () => {
    const browser = cookieClient(authApp);
    await browser.signIn(ann.token);
    const page = await browser.send('GET', '/page');
    expect(page.headers.get('content-security-policy')).toBe(PAGE_POLICY);
    expect(PAGE_POLICY).not.toMatch(/unsafe|\*|https?:/);
    const data = await browser.send('GET', '/api/thing');
    expect(data.headers.get('content-security-policy')).toBe(DATA_POLICY);
    for (const { headers } of [page, data]) {
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('same-origin');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    }
  });

  it('keep the preview of a mail from running scripts and loading files', () => {
    expect(PREVIEW_POLICY.split('; ')).toEqual(
      expect.arrayContaining(['sandbox', "default-src 'none'", "form-action 'none'", "frame-ancestors 'self'"]),
    );
  });

  it('have Strict-Transport-Security only when a trusted proxy received the request over TLS', async () => {
    const hsts = async (remote: string, proto: string) => {
      const headers = { host: 'localhost', 'x-forwarded-proto': proto };
      const response = await authApp.app.request(
        '/healthz',
        { headers },
        { incoming: { socket: { remoteAddress: remote } } },
      );
      return response.headers.get('strict-transport-security');
    };
    expect(await hsts('10.0.0.1', 'https')).toBe('max-age=15552000');
    expect(await hsts('10.0.0.1', 'http')).toBeNull();
    expect(await hsts('192.0.2.1', 'https')).toBeNull();
  });

  it('allow no other origin, not even a preflight', async () => {
    const asks = { host: 'localhost', origin: 'https://evil.example', 'access-control-request-method': 'POST' };
    for (const method of ['OPTIONS', 'GET', 'POST']) {
      for (const path of ['/api/thing', '/page/act', '/sign-in', '/healthz']) {
        const response = await authApp.app.request(path, { method, headers: asks });
        expect([...response.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
        if (method === 'OPTIONS') expect(response.ok).toBe(false);
      }
    }
  });

  it('are also set when a form is rejected for its size', async () => {
    const response = await cookieClient(authApp).send('POST', '/sign-in', { body: { token: 'x'.repeat(70_000) } });
    expect(response.status).toBe(413);
    expect(response.headers.get('content-security-policy')).toBe(DATA_POLICY);
  });
});
