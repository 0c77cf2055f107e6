import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { findPrepared, getPrepared, putPrepared } from '../../../src/fetch/cache/prepared-responses.ts';
import { redisResponseStore } from '../../../src/fetch/cache/redis-response-store.ts';
import { type PreparationStatus, redisPreparationIndex } from '../../../src/services/preparations/preparation-index.ts';

let redis: Redis;
beforeAll(() => {
  redis = new Redis(inject('redisUrl'));
});
afterAll(() => redis.quit());

const STATUS: PreparationStatus = {
  ...{ org: 'acme', report: 'weekly', slot: 1, begins: 1, key: 'k', digest: 'd', calls: 3, prepared: 2 },
  ...{ since: null, next: 1, complete: false },
};

test('keeps statuses, claims and refused keys', async () => {
  const index = redisPreparationIndex(redis, { prefix: `{test-${randomUUID()}}` });
  await index.put('a', STATUS);
  await index.put('b', { ...STATUS, complete: true });
  await index.remove(['b']);
  expect([...(await index.statuses())]).toEqual([['a', STATUS]]);
  expect(await index.claim('a', 'one', 10_000)).toBe(true);
  expect(await index.claim('a', 'one', 10_000)).toBe(true);
  expect(await index.claim('a', 'other', 10_000)).toBe(false);
  await index.release('a', 'other');
  expect(await index.claim('a', 'other', 10_000)).toBe(false);
  await index.release('a', 'one');
  expect(await index.claim('a', 'other', 10_000)).toBe(true);
  expect([await index.reportRefusal('k'), await index.reportRefusal('k')]).toEqual([true, false]);
});

const SOURCE = { service: 'https://api.example', key: 'k', registryVersion: 7 };
const RESPONSE = {
  ...{ correlationId: 'c', at: 1_800_000_000_000, askedBy: 'run' },
  body: {
    columns: [{ name: 'profiles.created', label: 'Created', kind: 'metric', type: 'integer', unit: 'count' }],
    rows: [{ 'profiles.created': 1 }],
    totals: { 'profiles.created': 1 },
    meta: {
      ...{ as_of: '2026-11-30T06:00:00Z', cached: false, timezone: 'UTC', row_count: 1, truncated: false },
      registry_version: 7,
    },
  },
} as never;

test.each([
  ['service', { service: 'https://other.example' }],
  ['key', { key: 'other' }],
  ['registry version', { registryVersion: 8 }],
])('a response of another %s is not used', async (_, change) => {
  const store = redisResponseStore(redis, { prefix: `{test-${randomUUID()}}:`, org: 'acme' });
  expect(await putPrepared(store, 'run', 'call', SOURCE, RESPONSE)).toBe(true);
  expect(await findPrepared(store, 'run', 'call', { ...SOURCE, ...change })).toBeUndefined();
});

test('a prepared response is used unless a check rejected it, and 0.2.0 sees neither kind', async () => {
  const store = redisResponseStore(redis, { prefix: `{test-${randomUUID()}}:`, org: 'acme' });
  await putPrepared(store, 'run', 'call', SOURCE, RESPONSE);
  expect(await getPrepared(store, 'run', 'call', SOURCE)).toMatchObject({ at: 1_800_000_000_000 });
  expect(await store.get('run', 'call')).toBeUndefined();
  await putPrepared(store, 'run', 'call', SOURCE, { ...(RESPONSE as object), body: null } as never);
  expect(await findPrepared(store, 'run', 'call', SOURCE)).toEqual({ response: null });
  expect(await getPrepared(store, 'run', 'call', SOURCE)).toBeUndefined();
});

test('prepared responses expire, and leave half of an organization’s storage to runs that are due', async () => {
  const prefix = `{test-${randomUUID()}}:`;
  const early = redisResponseStore(redis, { prefix, org: 'acme', maxOrgBytes: 400, ttlS: 1000 });
  const due = redisResponseStore(redis, { prefix, org: 'acme', maxOrgBytes: 800 });
  const stored: boolean[] = [];
  for (const call of ['a', 'b', 'c', 'd']) stored.push(await putPrepared(early, 'run', call, SOURCE, RESPONSE));
  expect(stored).toContain(false);
  expect(await redis.ttl(`${prefix}answers:run`)).toBeLessThanOrEqual(1000);
  expect(await due.put('other', 'a', { body: 1, correlationId: null, at: 1 })).toBe(true);
});
