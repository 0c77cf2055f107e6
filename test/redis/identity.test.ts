import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { claimIdentity, readIdentity } from '../../src/redis/identity.ts';

let redis: Redis;
let prefix: string;
beforeAll(() => {
  redis = new Redis(inject('redisUrl'));
});
beforeEach(() => {
  prefix = `{identity-${randomUUID()}}`;
});
afterAll(async () => {
  await redis.quit();
});

const ONE = '1'.repeat(32);
const OTHER = '2'.repeat(32);

/** The time of Redis, in ms since 1970. */
const redisNow = async (): Promise<number> => {
  const [seconds, micros] = await redis.time();
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
};

test('a Redis without an identity accepts only the first one', async () => {
  expect(await readIdentity(redis, prefix)).toBeUndefined();
  const before = await redisNow();
  const kept = await Promise.all([ONE, OTHER].map((id) => claimIdentity(redis, prefix, id, { restored: false })));
  expect(new Set(kept.map(({ id }) => id)).size).toBe(1);
  expect(await readIdentity(redis, prefix)).toEqual(kept[0]);
  expect(kept[0]).toMatchObject({ restored: false });
  expect(kept[0]!.since).toBeGreaterThanOrEqual(before);
  expect(kept[0]!.since).toBeLessThanOrEqual(await redisNow());
});

test('a restored identity is marked as restored until it is replaced', async () => {
  expect(await claimIdentity(redis, prefix, ONE, { restored: true })).toMatchObject({ id: ONE, restored: true });
  expect(await claimIdentity(redis, prefix, ONE, { restored: false })).toMatchObject({ id: ONE, restored: true });
  expect(await claimIdentity(redis, prefix, OTHER, { restored: false, replaces: ONE })).toMatchObject({
    id: OTHER,
    restored: false,
  });
  expect(await readIdentity(redis, prefix)).toMatchObject({ id: OTHER, restored: false });
  // Another process replaced it first: its identity stays.
  expect(await claimIdentity(redis, prefix, ONE, { restored: false, replaces: ONE })).toMatchObject({ id: OTHER });
});

test.each([{ id: 'mine' }, { since: '1' }, { id: ONE, since: 'yesterday' }, { id: ONE, since: '1.5' }, { id: ONE }])(
  'an unreadable identity (%j) counts as missing',
  async (fields) => {
    await redis.hset(`${prefix}:identity`, fields);
    expect(await readIdentity(redis, prefix)).toBeUndefined();
    expect(await claimIdentity(redis, prefix, OTHER, { restored: false })).toMatchObject({ id: OTHER });
  },
);

test('a key of another type is an error, not an unknown identity', async () => {
  await redis.set(`${prefix}:identity`, ONE);
  await expect(readIdentity(redis, prefix)).rejects.toMatchObject({ code: 'redis.wrong_type' });
  await expect(claimIdentity(redis, prefix, ONE, { restored: false })).rejects.toMatchObject({
    code: 'redis.wrong_type',
  });
});
