import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import type { ArchiveStorage } from '../../../src/deliver/archive/storage/archive-storage.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { archiveClaims, deleteExpiredClaims } from '../../../src/deliver/claims/archive-claims.ts';
import { type ClaimedPeriod, type ClaimStore, redisClaims } from '../../../src/deliver/claims/claim.ts';
import type { RedisClient } from '../../../src/redis/client.ts';
import { folderFor, ORDER, PERIOD, sealedRun } from '../../support/delivery-case.ts';
import { fake } from '../../support/fake.ts';

const OF: ClaimedPeriod = { org: 'acme', report: 'weekly-kpi', period: PERIOD };
const redis = new Redis(inject('redisUrl'));
const prefix = `test-claim-stores-${process.pid}:`;
afterAll(async () => {
  const keys = await redis.keys(`${prefix}*`);
  if (keys.length > 0) await redis.del(...keys);
  redis.disconnect();
});

let stores = 0;
const STORES: readonly (readonly [string, () => Promise<ClaimStore>])[] = [
  ['Redis', async () => redisClaims(redis, { prefix: `${prefix}${stores++}:`, ttlDays: 1 })],
  ['a folder', async () => archiveClaims(directoryStorage(await folderFor(onTestFinished)))],
];

describe.each(STORES)('a claim in %s', (_, open) => {
  test('is written only if it has not changed since it was read, and only for its own days and time zone', async () => {
    const store = await open();
    expect(await store.read(OF)).toBeUndefined();
    expect(await store.write(OF, { run: 'a', at: 1 }, undefined)).toBe(true);
    expect(await store.write(OF, { run: 'b', at: 2 }, undefined)).toBe(false);
    const first = await store.read(OF);
    expect(first).toMatchObject({ run: 'a', at: 1 });
    expect(await store.write(OF, { run: 'b', at: 3, replaces: [{ run: 'a', at: 1 }] }, first)).toBe(true);
    expect(await store.write(OF, { run: 'c', at: 4 }, first)).toBe(false);
    const second = await store.read(OF);
    expect(second).toMatchObject({ run: 'b', replaces: [{ run: 'a', at: 1 }] });
    expect(await store.write(OF, { run: 'b', at: 3, released: true }, second)).toBe(true);
    expect(await store.read(OF)).toMatchObject({ run: 'b', released: true });
    for (const other of [
      { ...OF, report: 'other' },
      { ...OF, org: 'other' },
      { ...OF, period: { ...PERIOD, to: '2026-11-16' } },
      { ...OF, period: { ...PERIOD, timezone: 'Europe/Berlin' } },
    ]) {
      expect(await store.read(other)).toBeUndefined();
    }
  });

  test('is given to one of ten simultaneous writers', async () => {
    const store = await open();
    const written = await Promise.all(
      Array.from({ length: 10 }, (_, index) => store.write(OF, { run: `${index}`, at: 1 }, undefined)),
    );
    expect(written.filter((one) => one)).toHaveLength(1);
    expect((await store.read(OF))?.run).toBe(String(written.indexOf(true)));
  });
});

test('a claim in Redis is written once even if its reply is lost, and expires', async () => {
  const own = `${prefix}twice:`;
  const twice = fake<RedisClient>({
    get: redis.get.bind(redis),
    eval: redis.eval.bind(redis),
    evalsha: (async (...args: Parameters<Redis['evalsha']>) => {
      await redis.evalsha(...args);
      return redis.evalsha(...args);
    }) as Redis['evalsha'],
  });
  await redisClaims(redis, { prefix: `${prefix}loads-the-script:`, ttlDays: 1 }).write(
    OF,
    { run: 'a', at: 1 },
    undefined,
  );
  const store = redisClaims(twice, { prefix: own, ttlDays: 1 });
  expect(await store.write(OF, { run: 'a', at: 1 }, undefined)).toBe(true);
  expect(await store.write(OF, { run: 'b', at: 1 }, await store.read(OF))).toBe(true);
  const [key = ''] = await redis.keys(`${own}*`);
  expect(key).toBe(`${own}claim:acme/weekly-kpi:2026-11-09..2026-11-15:Europe/Zurich`);
  expect(await redis.pttl(key)).toBeGreaterThan(23 * 3_600_000);
});

test('a claim of a newer version can be read, and an invalid one can be replaced', async () => {
  const own = `${prefix}other:`;
  const store = redisClaims(redis, { prefix: own, ttlDays: 1 });
  await store.write(OF, { run: 'a', at: 1 }, undefined);
  const [key = ''] = await redis.keys(`${own}*`);
  await redis.set(key, '{"run":"a","at":5,"since":"0.9"}');
  expect(await store.read(OF)).toMatchObject({ run: 'a', at: 5 });
  for (const text of ['', '{', '{"run":1}', 'null']) {
    await redis.set(key, text);
    const read = await store.read(OF);
    expect(read).toMatchObject({ at: 0 });
    expect(await store.write(OF, { run: 'b', at: 1 }, read)).toBe(true);
  }
});

test('claims are neither runs nor findings of an archive, and expire with the retention of their organization', async () => {
  const root = await folderFor(onTestFinished);
  await sealedRun(root);
  const folder = join(root, 'archive');
  const storage = directoryStorage(folder);
  const store = archiveClaims(storage);
  await store.write(OF, { run: ORDER.id, at: 10 }, undefined);
  await store.write(OF, { run: ORDER.id, at: 20 }, await store.read(OF));
  expect(await readdir(join(folder, '.claims', 'acme', 'weekly-kpi'))).toEqual([
    expect.stringMatching(/^2026-11-09\.\.2026-11-15\.[0-9a-f]{8}$/),
  ]);
  expect(await storage.listForeignFiles()).toEqual([]);
  expect(await storage.listOrgs()).toEqual(['acme']);
  const listed: string[] = [];
  for await (const run of storage.listRuns()) listed.push(run.id);
  expect(listed).toEqual([ORDER.id]);
  const fail = (name: string, error: unknown) => expect.fail(`${name}: ${error}`);
  await deleteExpiredClaims(storage, () => undefined, fail);
  await deleteExpiredClaims(storage, () => 20, fail);
  expect(await store.read(OF)).toMatchObject({ at: 20 });
  await deleteExpiredClaims(storage, () => 21, fail);
  expect(await store.read(OF)).toBeUndefined();
});

test('a store without conditional writes stores no claims', async () => {
  const written: string[] = [];
  const metadata = {
    conditionalWrites: async () => false,
    list: async () => [],
    get: async () => undefined,
    putIfAbsent: async (name: string) => written.push(name) > 0,
  } as unknown as ArchiveStorage['metadata'];
  const store = archiveClaims(fake({ metadata }));
  expect(await store.write(OF, { run: 'a', at: 1 }, undefined)).toBe(true);
  expect(await store.read(OF)).toBeUndefined();
  expect(written).toEqual([]);
});
