import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import {
  type CatalogCache,
  memoryCatalogCache,
  RECENT_CATALOG_MAX_AGE_MS,
  redisCatalogCache,
} from '../../../src/fetch/cache/catalog-cache.ts';
import { memoryBudget } from '../../../src/fetch/rate-limit/memory-budget.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { doneOf, fetchingFrom, keyOf, openSandbox } from '../../support/fetch-harness.ts';
import { advanceUntil, manualClock } from '../../support/manual-clock.ts';

const START = Date.parse('2026-11-20T10:00:00Z');
let sandbox: Sandbox;
let redis: Redis;
beforeAll(async () => {
  sandbox = await openSandbox();
  redis = new Redis(inject('redisUrl'));
});
afterAll(async () => {
  await redis.quit();
  await sandbox.close();
});

type Clock = ReturnType<typeof manualClock>;
/** Makes the cached catalogs older by this time. */
type Age = (ms: number, clock: Clock, prefix: string) => Promise<unknown>;

describe.each<[string, (clock: Clock, prefix: string) => CatalogCache, Age]>([
  ['in memory', (clock) => memoryCatalogCache(clock), async (ms, clock) => clock.advance(ms)],
  [
    'in Redis',
    (clock, prefix) => redisCatalogCache(redis, { prefix, clock }),
    async (ms, _clock, prefix) => {
      for (const key of await redis.keys(`${prefix}*`)) await redis.pexpire(key, (await redis.pttl(key)) - ms);
    },
  ],
])('catalogs cached %s', (_where, open, age) => {
  const start = () => {
    const clock = manualClock(START);
    const context = fetchingFrom(sandbox.url, keyOf(sandbox, 'acme'), { clock });
    const prefix = `catalogs-test:${randomUUID()}:`;
    const catalogs = open(clock, prefix);
    const before = sandbox.requests().length;
    const countRequests = () => sandbox.requests().length - before;
    const get = (org: number | 'current' = 'current', more = {}) =>
      catalogs.get({ ...context, org, tenant: 'acme', ...more }, context.signal, context.observe);
    return { clock, context, catalogs, asked: countRequests, get, prefix };
  };

  test('are fetched once, for one token', async () => {
    const { context, asked, get } = start();
    const first = doneOf(await get());
    expect(doneOf(await get())).toEqual(first);
    expect(asked()).toBe(1);
    expect((await context.budget.inspect(context.key)).tokens).toBe(29);
  });

  test('are fetched once for all runs that start at the same time', async () => {
    const { clock, asked, get } = start();
    const runs = Array.from({ length: 10 }, () => get('current'));
    // Waits for the service before advancing the clock: otherwise the claim would expire before a slow response.
    await Promise.race(runs);
    const all = await advanceUntil(clock, Promise.all(runs), 10);
    expect(new Set(all.map((outcome) => doneOf(outcome).registry_version)).size).toBe(1);
    expect(asked()).toBe(1);
  });

  test('are fetched by another run after the first has failed', async () => {
    const { asked, get } = start();
    const { client } = fetchingFrom(sandbox.url, keyOf(sandbox, 'agent'));
    expect((await get('current', { client })).kind).toBe('fail');
    doneOf(await get());
    expect(asked()).toBe(2);
  });

  test('snooze a run that waits longer than maxWaitMs', async () => {
    const { clock, context, get } = start();
    const hanging = { ...context.client, catalog: () => new Promise<never>(() => {}) };
    void get('current', { client: hanging });
    const second = get('current', { maxWaitMs: 1_000 });
    expect(await advanceUntil(clock, second, 250)).toMatchObject({ kind: 'snooze' });
  });

  test('are separate for each organization and key', async () => {
    const { asked, get } = start();
    doneOf(await get('current'));
    doneOf(await get(101));
    doneOf(await get('current', { key: 'another' }));
    expect(asked()).toBe(3);
  });

  test('are deleted only when a report has another registry version', async () => {
    const { context, catalogs, asked, get } = start();
    const { registry_version } = doneOf(await get());
    await catalogs.invalidateStale(context.key, 'current', registry_version);
    doneOf(await get());
    expect(asked()).toBe(1);
    await catalogs.invalidateStale(context.key, 'current', registry_version + 1);
    doneOf(await get());
    expect(asked()).toBe(2);
  });

  test('older than maxAgeMs are fetched again, for all runs', async () => {
    const { clock, asked, get, prefix } = start();
    const recent = { maxAgeMs: RECENT_CATALOG_MAX_AGE_MS };
    doneOf(await get('current', recent));
    await age(30_000, clock, prefix);
    doneOf(await get('current', recent));
    expect(asked()).toBe(1);
    await age(31_000, clock, prefix);
    doneOf(await get());
    expect(asked()).toBe(1);
    doneOf(await get('current', recent));
    doneOf(await get('current', recent));
    doneOf(await get());
    expect(asked()).toBe(2);
  });

  test('stay in the cache if no newer one can be fetched', async () => {
    const { clock, asked, get, prefix } = start();
    const catalog = doneOf(await get());
    await age(61_000, clock, prefix);
    const { client } = fetchingFrom(sandbox.url, keyOf(sandbox, 'agent'));
    expect((await get('current', { client, maxAgeMs: RECENT_CATALOG_MAX_AGE_MS })).kind).toBe('fail');
    expect(doneOf(await get())).toEqual(catalog);
    expect(asked()).toBe(2);
  });

  test('need a token to be fetched, and snooze a run that would wait too long', async () => {
    const { clock, context, get } = start();
    const budget = memoryBudget({ calls: 1, windowMs: 60_000, clock });
    await budget.acquire({ key: context.key, id: 'x', org: 'x', priority: 'scheduled', holdMs: 1_000 });
    expect(await get('current', { budget, maxWaitMs: 1_000 })).toMatchObject({ kind: 'snooze' });
  });

  test('fail with the error of a rejected key', async () => {
    const { get } = start();
    const { client } = fetchingFrom(sandbox.url, keyOf(sandbox, 'agent'));
    expect(await get('current', { client })).toMatchObject({ kind: 'fail', error: { code: 'api.forbidden' } });
  });
});

test('a catalog in memory is fetched again after an hour', async () => {
  const clock = manualClock(START);
  const context = fetchingFrom(sandbox.url, keyOf(sandbox, 'acme'), { clock });
  const catalogs = memoryCatalogCache(clock);
  const before = sandbox.requests().length;
  const get = () => catalogs.get({ ...context, org: 'current', tenant: 'acme' }, context.signal, context.observe);
  doneOf(await get());
  clock.advance(3_599_999);
  doneOf(await get());
  expect(sandbox.requests().length - before).toBe(1);
  clock.advance(1);
  doneOf(await get());
  expect(sandbox.requests().length - before).toBe(2);
});

test('a catalog in Redis expires after an hour, and a damaged one is ignored', async () => {
  const prefix = `catalogs-test:${randomUUID()}:`;
  const clock = manualClock(START);
  const context = fetchingFrom(sandbox.url, keyOf(sandbox, 'acme'), { clock });
  const catalogs = redisCatalogCache(redis, { prefix, clock });
  const get = () => catalogs.get({ ...context, org: 'current', tenant: 'acme' }, context.signal, context.observe);
  const catalog = doneOf(await get());
  const [key = ''] = await redis.keys(`${prefix}*`);
  expect(await redis.pttl(key)).toBeGreaterThan(3_500_000);
  await redis.set(key, '{"registry_version":"seven"}');
  expect(doneOf(await get())).toEqual(catalog);
});

test('a process reuses a catalog from Redis for a second, unless maxAgeMs is set', async () => {
  const prefix = `catalogs-test:${randomUUID()}:`;
  const clock = manualClock(START);
  const context = fetchingFrom(sandbox.url, keyOf(sandbox, 'acme'), { clock });
  const open = () => redisCatalogCache(redis, { prefix, clock });
  const [catalogs, others] = [open(), open()];
  const before = sandbox.requests().length;
  const get = (maxAgeMs?: number) =>
    catalogs.get({ ...context, org: 'current', tenant: 'acme', maxAgeMs }, context.signal, context.observe);
  const countRequests = async (maxAgeMs?: number): Promise<number> => {
    doneOf(await get(maxAgeMs));
    return sandbox.requests().length - before;
  };
  expect([await countRequests(), await countRequests()]).toEqual([1, 1]);
  await others.invalidate(context.key, 'current');
  expect(await countRequests()).toBe(1);
  expect(await countRequests(RECENT_CATALOG_MAX_AGE_MS)).toBe(2);
  await countRequests();
  await others.invalidate(context.key, 'current');
  clock.advance(1_000);
  expect(await countRequests()).toBe(3);
});
