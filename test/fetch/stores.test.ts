import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { memoryStore } from '../../src/fetch/memory-store.ts';
import { redisStore } from '../../src/fetch/redis-store.ts';
import type { ResponseStore } from '../../src/fetch/response-store.ts';

const prefix = `stores-test:${randomUUID()}:`;
let redis: Redis;
beforeAll(() => {
  redis = new Redis(inject('redisUrl'));
});
afterAll(() => redis.quit());

const ANSWER = { body: { rows: [{ a: 1, b: null, c: 0.1, d: 'Zoë' }] }, correlationId: 'c-1', at: 1_800_000_000_000 };

describe.each<[string, () => ResponseStore]>([
  ['in memory', memoryStore],
  ['in Redis', () => redisStore(redis, { prefix: `${prefix}${randomUUID()}:` })],
])('answers kept %s', (_where, open) => {
  test('come back as they were, for their run and call only', async () => {
    const store = open();
    await store.put('run', 'call', ANSWER);
    expect(await store.get('run', 'call')).toEqual(ANSWER);
    expect(await store.get('run', 'other')).toBe(undefined);
    expect(await store.get('other', 'call')).toBe(undefined);
  });

  test('are gone when their run is dropped', async () => {
    const store = open();
    await store.put('run', 'one', ANSWER);
    await store.put('run', 'two', ANSWER);
    await store.put('other', 'one', ANSWER);
    await store.drop('run');
    expect([await store.get('run', 'one'), await store.get('run', 'two')]).toEqual([undefined, undefined]);
    expect(await store.get('other', 'one')).toEqual(ANSWER);
  });
});

test('answers in Redis are packed, and go by themselves after a week', async () => {
  const own = `${prefix}packed:`;
  const store = redisStore(redis, { prefix: own });
  const body = { rows: Array.from({ length: 1_000 }, (_, index) => ({ bucket: '2026-11-19', value: index })) };
  await store.put('run', 'call', { ...ANSWER, body });
  const [key = ''] = await redis.keys(`${own}*`);
  expect(await redis.hstrlen(key, 'call')).toBeLessThan(JSON.stringify(body).length / 4);
  expect(await redis.ttl(key)).toBeGreaterThan(6 * 24 * 3600);
  expect(await redis.ttl(key)).toBeLessThanOrEqual(7 * 24 * 3600);
});

test('an entry in Redis that is damaged is one we do not have', async () => {
  const own = `${prefix}damaged:`;
  const store = redisStore(redis, { prefix: own });
  await redis.hset(`${own}answers:run`, 'call', 'not gzip');
  expect(await store.get('run', 'call')).toBe(undefined);
});
