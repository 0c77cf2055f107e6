import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { catalogSchema } from '../../src/contract/catalog.ts';
import { organizationSchema } from '../../src/contract/organization.ts';
import { issueKeys } from '../../src/sandbox/api-keys.ts';
import { buildSandbox } from '../../src/sandbox/sandbox.ts';
import { inProcessSandbox } from '../support/in-process-sandbox.ts';

const NOW = Date.parse('2026-04-08T08:30:00Z');
const sandbox = inProcessSandbox({ now: NOW });
const created = { metrics: ['profiles.created'] };

const status = async (key: string, path: string) => (await sandbox.get(path, key)).status;
const METRICS = '/api/orgs/101/analytics/metrics/';
const PROFILES = '/api/orgs/101/profiles/';

describe('the Authorization header (§5.1, §5.2)', () => {
  const withHeader = async (authorization: string | undefined) => {
    const headers = authorization === undefined ? {} : { Authorization: authorization };
    const response = await sandbox.app.request('http://sandbox.test/api/orgs/', { headers });
    return { status: response.status, body: await response.json() };
  };
  const key = sandbox.keyOf('all');

  it('accepts Api-Key, one space, prefix, dot and secret', async () => {
    expect(await withHeader(`Api-Key ${key}`)).toMatchObject({ status: 200 });
  });

  it.each([
    ['no header', undefined],
    ['no prefix', key],
    ['another scheme', `Bearer ${key}`],
    ['no space', `Api-Key${key}`],
    ['two spaces', `Api-Key  ${key}`],
    ['lower case', `api-key ${key}`],
    ['no dot', `Api-Key ${key.replace('.', '')}`],
    ['the public prefix alone', `Api-Key ${key.split('.')[0]}`],
    ['a wrong secret', `Api-Key ${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}`],
    ['a secret with something after it', `Api-Key ${key}x`],
    ['an unknown prefix', `Api-Key nobody.${key.split('.')[1]}`],
    ['the secret of another key', `Api-Key ${key.split('.')[0]}.${sandbox.keyOf('acme').split('.')[1]}`],
  ])('refuses %s with auth.invalid_credentials', async (_, header) => {
    expect(await withHeader(header)).toEqual({
      status: 401,
      body: { detail: expect.any(String), code: 'auth.invalid_credentials', correlation_id: expect.any(String) },
    });
  });

  it('refuses a revoked key as invalid and an expired one as expired (§5.6)', async () => {
    expect(await sandbox.get('/api/orgs/', 'revoked')).toMatchObject({
      status: 401,
      body: { code: 'auth.invalid_credentials' },
    });
    expect(await sandbox.get('/api/orgs/', 'expired')).toMatchObject({
      status: 401,
      body: { code: 'auth.token_expired' },
    });
  });

  it('is refused with a key that was made a year ago', async () => {
    let now = NOW;
    const aging = buildSandbox({ clock: { now: () => now, sleep: () => Promise.resolve() } });
    const ask = async () =>
      (
        await aging.app.request('http://sandbox.test/api/orgs/', {
          headers: { Authorization: `Api-Key ${aging.keys[0]?.text}` },
        })
      ).status;
    // It was made 30 days before the start.
    now = NOW + 335 * 86_400_000 - 1;
    expect(await ask()).toBe(200);
    now += 1;
    expect(await ask()).toBe(401);
  });
});

describe('a key (§5.3 to §5.5, §7)', () => {
  it('reaches every organization of its owner, unless it is scoped to one', async () => {
    const reached = async (key: string) =>
      z
        .array(organizationSchema)
        .parse((await sandbox.get('/api/orgs/', key)).body)
        .map(({ id }) => id);
    expect(await reached('all')).toEqual([101, 102, 103, 104]);
    expect(await reached('northwind')).toEqual([102]);
    expect(await reached('elsewhere')).toEqual([102]);
    expect(await reached('left')).toEqual([]);
  });

  it.each([
    ['acme', '/api/orgs/102/analytics/metrics/', 'the URL names an organization other than the key’s'],
    ['acme', '/api/orgs/102/profiles/', 'the URL names an organization other than the key’s'],
    ['elsewhere', METRICS, 'the owner is not a member'],
    ['left', METRICS, 'the owner is no longer a member'],
    ['left', '/api/orgs/current/analytics/metrics/', 'the owner is no longer a member'],
    ['agent', METRICS, 'the role lacks analytics.read'],
    ['metrics', PROFILES, 'the key is scoped to analytics.read'],
    ['metrics', '/api/orgs/', 'the key is scoped to analytics.read'],
  ])('gets 403 as %s at %s: %s', async (key, path) => {
    expect(await sandbox.get(path, key)).toMatchObject({ status: 403, body: { code: 'permission_denied' } });
  });

  it('gets 404 for an unknown organization, whichever key it is', async () => {
    for (const key of ['all', 'acme', 'elsewhere']) {
      expect(await status(key, '/api/orgs/900/analytics/metrics/')).toBe(404);
    }
  });

  it('reads records even if its role lacks analytics.read', async () => {
    expect(await status('agent', PROFILES)).toBe(200);
  });

  it('reads metrics and reports with the scope analytics.read alone', async () => {
    expect(await status('metrics', METRICS)).toBe(200);
    expect((await sandbox.report(created, { key: 'metrics' })).status).toBe(200);
    expect((await sandbox.report(created, { key: 'metrics', org: 'current' })).status).toBe(200);
  });

  it('calls GET endpoints only if it is read-only', async () => {
    expect(await status('readonly', PROFILES)).toBe(200);
    expect(await status('readonly', METRICS)).toBe(200);
    expect((await sandbox.report(created, { key: 'readonly' })).status).toBe(403);
    expect((await sandbox.send('POST', PROFILES, { key: 'readonly', body: '{}' })).status).toBe(403);
  });

  it('resolves `current` to the organization in which it was issued', async () => {
    const groups = async (key: string) => {
      const { body } = await sandbox.get('/api/orgs/current/analytics/metrics/', key);
      return catalogSchema.parse(body).dimensions.find(({ id }) => id === 'profile.group')?.values.length;
    };
    expect(await groups('all')).toBe(4);
    expect(await groups('lakeside')).toBe(2);
    expect(await groups('blank')).toBe(0);
  });
});

describe('keys at rest', () => {
  it('are stored as hashes, and their secrets are neither stored nor listed', async () => {
    const { body } = await sandbox.get('/api/orgs/101/api-keys/');
    const kept = JSON.stringify([sandbox.keys.map(({ stored }) => stored), body]);
    for (const { text } of sandbox.keys) expect(kept).not.toContain(text.split('.')[1]);
    expect(kept).toContain('sbx_acme');
  });

  it('are the same at each start with one seed, and differ with another seed', () => {
    const texts = (seed: number, now: number) => issueKeys(seed, now).map(({ text }) => text);
    expect(texts(1, NOW)).toEqual(texts(1, NOW + 1_000_000));
    expect(new Set([...texts(1, NOW), ...texts(2, NOW)]).size).toBe(2 * texts(1, NOW).length);
  });
});
