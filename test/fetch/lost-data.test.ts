import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { keepIdentity, readIdentity, replaceIdentity } from '../../src/base/redis-identity.ts';
import { lostData } from '../../src/fetch/lost-data.ts';
import { aPrefix } from '../support/queue-bench.ts';

const HOUR_MS = 3_600_000;
const anId = () => randomBytes(16).toString('hex');

const start = () => {
  const redis = new Redis(inject('redisUrl'));
  onTestFinished(() => redis.disconnect());
  const prefix = aPrefix();
  return { redis, prefix, lost: lostData(redis, prefix) };
};

test('a new deployment, and one that has no identity, lost nothing', async () => {
  const { redis, prefix, lost } = start();
  const asked = vi.spyOn(redis, 'hgetall');
  await lost.learn();
  await lost.learn();
  expect(asked).toHaveBeenCalledTimes(1);
  expect(await lost.within(HOUR_MS)).toBe(false);
  await keepIdentity(redis, prefix, anId(), { restored: false });
  expect(await lost.within(HOUR_MS)).toBe(false);
});

test('an identity that is gone is a loss: it is put back, and all processes know for as long as it counts', async () => {
  const { redis, prefix, lost } = start();
  const id = anId();
  await keepIdentity(redis, prefix, id, { restored: false });
  await lost.learn();
  await redis.del(`${prefix}:identity`);
  expect(await lost.within(HOUR_MS)).toBe(true);
  expect(await readIdentity(redis, prefix)).toMatchObject({ id, restored: true });
  const other = lostData(redis, prefix);
  expect(await other.within(HOUR_MS)).toBe(true);
  await redis.hset(`${prefix}:identity`, 'since', Date.now() - 2 * HOUR_MS);
  expect([await lost.within(HOUR_MS), await other.within(HOUR_MS)]).toEqual([false, false]);
  // By a clock that was set back since, nobody can tell.
  await redis.hset(`${prefix}:identity`, 'since', Date.now() + 2 * HOUR_MS);
  expect(await other.within(HOUR_MS)).toBe(true);
});

test('another identity in its place is a loss as well', async () => {
  const { redis, prefix, lost } = start();
  const id = anId();
  await keepIdentity(redis, prefix, id, { restored: false });
  await lost.learn();
  await replaceIdentity(redis, prefix, anId(), id);
  expect([await lost.within(HOUR_MS), await lost.within(HOUR_MS)]).toEqual([true, false]);
});
