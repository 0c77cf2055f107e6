import { randomBytes, randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { deleteResponses, redisResponseStore } from '../../../src/fetch/cache/redis-response-store.ts';
import { memoryResponseStore, type ResponseStore } from '../../../src/fetch/cache/response-store.ts';

const prefix = `stores-test:${randomUUID()}:`;
let redis: Redis;
beforeAll(() => {
  redis = new Redis(inject('redisUrl'));
});
afterAll(() => redis.quit());

const ANSWER = { body: { rows: [{ a: 1, b: null, c: 0.1, d: 'Zoë' }] }, correlationId: 'c-1', at: 1_800_000_000_000 };

describe.each<[string, () => ResponseStore]>([
  ['in memory', memoryResponseStore],
  ['in Redis', () => redisResponseStore(redis, { prefix: `${prefix}${randomUUID()}:`, org: 'acme' })],
])('responses stored %s', (_where, open) => {
  test('are returned unchanged, for their run and call only', async () => {
    const store = open();
    expect(await store.put('run', 'call', ANSWER)).toBe(true);
    expect(await store.get('run', 'call')).toEqual(ANSWER);
    expect(await store.get('run', 'other')).toBe(undefined);
    expect(await store.get('other', 'call')).toBe(undefined);
  });

  test('are deleted with their run', async () => {
    const store = open();
    await store.put('run', 'one', ANSWER);
    await store.put('run', 'two', ANSWER);
    await store.put('other', 'one', ANSWER);
    await store.delete('run');
    expect([await store.get('run', 'one'), await store.get('run', 'two')]).toEqual([undefined, undefined]);
    expect(await store.get('other', 'one')).toEqual(ANSWER);
  });
});

test('responses in Redis are compressed, and expire after a week', async () => {
  const own = `${prefix}packed:`;
  const store = redisResponseStore(redis, { prefix: own, org: 'acme' });
  const body = { rows: Array.from({ length: 1_000 }, (_, index) => ({ bucket: '2026-11-19', value: index })) };
  await store.put('run', 'call', { ...ANSWER, body });
  const key = `${own}answers:run`;
  expect(await redis.hstrlen(key, 'call')).toBeLessThan(JSON.stringify(body).length / 4);
  expect(await redis.ttl(key)).toBeGreaterThan(6 * 24 * 3600);
  expect(await redis.ttl(key)).toBeLessThanOrEqual(7 * 24 * 3600);
});

test('a damaged entry in Redis counts as missing', async () => {
  const own = `${prefix}damaged:`;
  const store = redisResponseStore(redis, { prefix: own, org: 'acme' });
  await redis.hset(`${own}answers:run`, 'call', 'not gzip');
  expect(await store.get('run', 'call')).toBe(undefined);
});

describe('the limit of responses in Redis', () => {
  const MAX_RUN = 10_000;
  const MAX_ORG = 15_000;
  /** About 3 kB, even when compressed. */
  const page = () => ({ ...ANSWER, body: { noise: randomBytes(2_000).toString('base64') } });
  const opened = () => {
    const own = `${prefix}room-${randomUUID()}:`;
    const of = (org: string) =>
      redisResponseStore(redis, { prefix: own, org, maxRunBytes: MAX_RUN, maxOrgBytes: MAX_ORG });
    const bytes = async (run: string): Promise<number> => {
      const kept = await redis.hgetallBuffer(`${own}answers:${run}`);
      return Object.entries(kept).reduce((sum, [call, packed]) => sum + call.length + packed.length, 0);
    };
    /** Puts pages until one is refused. Returns how many were stored. */
    const fill = async (org: string, run: string): Promise<number> => {
      for (let number = 0; ; number += 1) if (!(await of(org).put(run, `list:${number}`, page()))) return number;
    };
    return { own, of, bytes, fill };
  };

  test('applies to a run: a response beyond it is not stored, stored ones stay', async () => {
    const { of, bytes, fill } = opened();
    const kept = await fill('acme', 'run');
    expect(kept).toBeGreaterThan(1);
    expect(await bytes('run')).toBeLessThanOrEqual(MAX_RUN);
    expect(await of('acme').get('run', `list:${kept - 1}`)).toBeDefined();
    expect(await of('acme').get('run', `list:${kept}`)).toBeUndefined();
    // Replacing a response takes no more room, and a small one still fits.
    expect(await of('acme').put('run', 'list:0', page())).toBe(true);
    expect(await of('acme').put('run', 'small', ANSWER)).toBe(true);
    expect(await bytes('run')).toBeLessThanOrEqual(MAX_RUN);
  });

  test('applies to all runs of an organization together; other organizations have their own limit', async () => {
    const { of, bytes, fill } = opened();
    await Promise.all([fill('acme', 'one'), fill('acme', 'two')]);
    const both = (await bytes('one')) + (await bytes('two'));
    expect(both).toBeGreaterThan(MAX_RUN);
    expect(both).toBeLessThanOrEqual(MAX_ORG);
    expect(await of('acme').put('three', 'list:0', page())).toBe(false);
    expect(await fill('other', 'four')).toBeGreaterThan(1);
    // Deleting a run makes room for others.
    await deleteResponses(redis, { prefix: opened().own })('one');
    expect(await of('acme').put('three', 'list:0', page())).toBe(false);
    await of('acme').delete('one');
    expect(await of('acme').put('three', 'list:0', page())).toBe(true);
  });

  test('leaves no keys after all runs are deleted', async () => {
    const { own, of, fill } = opened();
    await fill('acme', 'one');
    await fill('other', 'two');
    for (const key of await redis.keys(`${own}*`)) expect(await redis.ttl(key), key).toBeGreaterThan(0);
    await deleteResponses(redis, { prefix: own })('one');
    await of('other').delete('two');
    await of('other').delete('two');
    expect(await redis.keys(`${own}*`)).toEqual([]);
  });

  test('does not count expired or deleted responses', async () => {
    const { own, of, fill } = opened();
    const one = await fill('acme', 'one');
    await fill('acme', 'two');
    expect(await of('acme').put('three', 'list:0', page())).toBe(false);
    await redis.del(`${own}answers:one`);
    expect(await of('acme').put('three', 'list:0', page())).toBe(true);
    expect(await fill('acme', 'one')).toBeGreaterThan(0);
    await redis.del(`${own}answers:one`, `${own}answers:two`, `${own}answers:three`);
    await redis.zadd(`${own}answers-expiry`, 1, 'one', 1, 'two', 1, 'three');
    expect(await fill('acme', 'one')).toBe(one);
  });

  test('counts responses stored by a version that did not count them', async () => {
    const { own, of, bytes } = opened();
    for (let number = 0; number < 3; number += 1) {
      await redis.hset(`${own}answers:run`, `old:${number}`, randomBytes(3_000));
    }
    expect(await of('acme').put('run', 'list:0', page())).toBe(false);
    expect(await of('acme').put('run', 'small', ANSWER)).toBe(true);
    expect(await bytes('run')).toBeLessThanOrEqual(MAX_RUN);
  });
});
