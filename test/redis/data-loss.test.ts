import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { dataLossDetector } from '../../src/redis/data-loss.ts';
import { claimIdentity, readIdentity } from '../../src/redis/identity.ts';
import { randomPrefix } from '../support/queue-harness.ts';

const HOUR_MS = 3_600_000;
const anId = () => randomBytes(16).toString('hex');

const start = () => {
  const redis = new Redis(inject('redisUrl'));
  onTestFinished(() => redis.disconnect());
  const prefix = randomPrefix();
  return { redis, prefix, lost: dataLossDetector(redis, prefix) };
};

test('a new deployment has no data loss, before and after it gets an identity', async () => {
  const { redis, prefix, lost } = start();
  const requested = vi.spyOn(redis, 'hgetall');
  await lost.remember();
  await lost.remember();
  expect(requested).toHaveBeenCalledTimes(1);
  expect(await lost.lostWithin(HOUR_MS)).toBe(false);
  await claimIdentity(redis, prefix, anId(), { restored: false });
  expect(await lost.lostWithin(HOUR_MS)).toBe(false);
});

test('a missing identity counts as a loss: it is restored, and all processes know of the loss while it is recent', async () => {
  const { redis, prefix, lost } = start();
  const id = anId();
  await claimIdentity(redis, prefix, id, { restored: false });
  await lost.remember();
  await redis.del(`${prefix}:identity`);
  expect(await lost.lostWithin(HOUR_MS)).toBe(true);
  expect(await readIdentity(redis, prefix)).toMatchObject({ id, restored: true });
  const other = dataLossDetector(redis, prefix);
  expect(await other.lostWithin(HOUR_MS)).toBe(true);
  await redis.hset(`${prefix}:identity`, 'since', Date.now() - 2 * HOUR_MS);
  expect([await lost.lostWithin(HOUR_MS), await other.lostWithin(HOUR_MS)]).toEqual([false, false]);
  // After the clock was set back the age is unknown, so the loss still counts.
  await redis.hset(`${prefix}:identity`, 'since', Date.now() + 2 * HOUR_MS);
  expect(await other.lostWithin(HOUR_MS)).toBe(true);
});

test('a different identity counts as a loss as well', async () => {
  const { redis, prefix, lost } = start();
  const id = anId();
  await claimIdentity(redis, prefix, id, { restored: false });
  await lost.remember();
  await claimIdentity(redis, prefix, anId(), { restored: false, replaces: id });
  expect([await lost.lostWithin(HOUR_MS), await lost.lostWithin(HOUR_MS)]).toEqual([true, false]);
});
