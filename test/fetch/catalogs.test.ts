import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Catalogs, memoryCatalogs, RECENT_CATALOG_MS, redisCatalogs } from '../../src/fetch/catalogs.ts';
import { memoryBudget } from '../../src/fetch/memory-budget.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { doneOf, fetchingFrom, keyOf, openSandbox } from '../support/fetching.ts';
import { manualClock } from '../support/manual-clock.ts';

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
/** Lets the catalogs that are held become older by so much. */
type Age = (ms: number, clock: Clock, prefix: string) => Promise<unknown>;

describe.each<[string, (clock: Clock, prefix: string) => Catalogs, Age]>([
  ['in memory', (clock) => memoryCatalogs(clock), async (ms, clock) => clock.advance(ms)],
  [
    'in Redis',
    (clock, prefix) => redisCatalogs(redis, { prefix, clock }),
    async (ms, _clock, prefix) => {
      for (const key of await redis.keys(`${prefix}*`)) await redis.pexpire(key, (await redis.pttl(key)) - ms);
    },
  ],
])('catalogs held %s', (_where, open, age) => {
  const start = () => {
    const clock = manualClock(START);
    const context = fetchingFrom(sandbox.url, keyOf(sandbox, 'acme'), { clock });
    const prefix = `catalogs-test:${randomUUID()}:`;
    const catalogs = open(clock, prefix);
    const before = sandbox.requests().length;
    const asked = () => sandbox.requests().length - before;
    const get = (org: number | 'current' = 'current', more = {}) =>
      catalogs.get({ ...context, org, tenant: 'acme', ...more }, context.signal, context.observe);
    return { clock, context, catalogs, asked, get, prefix };
  };

  test('are asked for once, for one token', async () => {
    const { context, asked, get } = start();
    const first = doneOf(await get());
    expect(doneOf(await get())).toEqual(first);
    expect(asked()).toBe(1);
    expect((await context.budget.look(context.key)).tokens).toBe(29);
  });

  test('are asked for once by all the runs that start at one instant', async () => {
    const { clock, asked, get } = start();
    const runs = Array.from({ length: 10 }, (_, index) => get('current', { run: `run-${index}` }));
    // Whoever asks waits for the service and not for the clock, at which the claim would end before a slow answer.
    await Promise.race(runs);
    let over = false;
    const all = Promise.all(runs).finally(() => {
      over = true;
    });
    while (!over) {
      await Promise.race([clock.slept(), all]);
      clock.advance(10);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(new Set((await all).map((outcome) => doneOf(outcome).registry_version)).size).toBe(1);
    expect(asked()).toBe(1);
  });

  test('are asked for by another run when the first has failed', async () => {
    const { asked, get } = start();
    const { client } = fetchingFrom(sandbox.url, keyOf(sandbox, 'agent'));
    expect((await get('current', { client })).kind).toBe('fail');
    doneOf(await get());
    expect(asked()).toBe(2);
  });

  test('are not waited for longer than the patience', async () => {
    const { clock, context, get } = start();
    const hanging = { ...context.client, catalog: () => new Promise<never>(() => {}) };
    void get('current', { client: hanging });
    const second = get('current', { run: 'run-2', patienceMs: 1_000 });
    let outcome: Awaited<typeof second> | undefined;
    void second.then((value) => {
      outcome = value;
    });
    while (outcome === undefined) {
      await Promise.race([clock.slept(), second]);
      clock.advance(250);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(outcome).toMatchObject({ kind: 'snooze' });
  });

  test('are another one for another organization or key', async () => {
    const { asked, get } = start();
    doneOf(await get('current'));
    doneOf(await get(101));
    doneOf(await get('current', { key: 'another' }));
    expect(asked()).toBe(3);
  });

  test('are forgotten when a report comes from another registry version, and only then', async () => {
    const { context, catalogs, asked, get } = start();
    const { registry_version } = doneOf(await get());
    await catalogs.saw(context.key, 'current', registry_version);
    doneOf(await get());
    expect(asked()).toBe(1);
    await catalogs.saw(context.key, 'current', registry_version + 1);
    doneOf(await get());
    expect(asked()).toBe(2);
  });

  test('are asked for anew where an older one will not do, which all then have', async () => {
    const { clock, asked, get, prefix } = start();
    const recent = { maxAgeMs: RECENT_CATALOG_MS };
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

  test('stay where no newer one is to be had', async () => {
    const { clock, asked, get, prefix } = start();
    const catalog = doneOf(await get());
    await age(61_000, clock, prefix);
    const { client } = fetchingFrom(sandbox.url, keyOf(sandbox, 'agent'));
    expect((await get('current', { client, maxAgeMs: RECENT_CATALOG_MS })).kind).toBe('fail');
    expect(doneOf(await get())).toEqual(catalog);
    expect(asked()).toBe(2);
  });

  test('wait in the line as calls do, and snooze', async () => {
    const { clock, context, get } = start();
    const budget = memoryBudget({ calls: 1, windowMs: 60_000, clock });
    await budget.ask({ key: context.key, id: 'x', org: 'x', priority: 'scheduled', holdMs: 1_000 });
    expect(await get('current', { budget, patienceMs: 1_000 })).toMatchObject({ kind: 'snooze' });
  });

  test('of a refused key are a failure', async () => {
    const { get } = start();
    const { client } = fetchingFrom(sandbox.url, keyOf(sandbox, 'agent'));
    expect(await get('current', { client })).toMatchObject({ kind: 'fail', error: { code: 'api.forbidden' } });
  });
});

test('a catalog in memory is asked for again after an hour', async () => {
  const clock = manualClock(START);
  const context = fetchingFrom(sandbox.url, keyOf(sandbox, 'acme'), { clock });
  const catalogs = memoryCatalogs(clock);
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

test('a catalog in Redis goes by itself after an hour, and a damaged one is not believed', async () => {
  const prefix = `catalogs-test:${randomUUID()}:`;
  const clock = manualClock(START);
  const context = fetchingFrom(sandbox.url, keyOf(sandbox, 'acme'), { clock });
  const catalogs = redisCatalogs(redis, { prefix, clock });
  const get = () => catalogs.get({ ...context, org: 'current', tenant: 'acme' }, context.signal, context.observe);
  const catalog = doneOf(await get());
  const [key = ''] = await redis.keys(`${prefix}*`);
  expect(await redis.pttl(key)).toBeGreaterThan(3_500_000);
  await redis.set(key, '{"registry_version":"seven"}');
  expect(doneOf(await get())).toEqual(catalog);
});
