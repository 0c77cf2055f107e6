import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { NO_STEPS, redisClock } from '../../src/redis/clock.ts';
import { randomPrefix } from '../support/queue-harness.ts';

const AT = 1_800_000_000_000;

const start = () => {
  const redis = new Redis(inject('redisUrl'));
  onTestFinished(() => redis.disconnect());
  const prefix = randomPrefix();
  return { redis, prefix, process: () => redisClock(redis, { prefix }) };
};

test('a step of the clock is recorded only by the first process that sees it', async () => {
  const { process } = start();
  const [one, other] = [process(), process()];
  expect(await one.read()).toEqual(NO_STEPS);
  for (const each of [one, other]) each.loadBaseline();
  await Promise.all([one.read(), other.read()]);
  expect(await one.record(7_000, AT)).toBe(true);
  expect(await other.record(7_040, AT + 30)).toBe(false);
  expect(await one.read()).toEqual({ steps: 1, last: { ms: 7_000, at: AT } });
});

test('a second step of the same length is recorded separately', async () => {
  const { process } = start();
  const [one, other] = [process(), process()];
  await one.record(7_000, AT);
  // This process starts after the first step.
  expect(await other.record(7_000, AT + 9_000)).toBe(true);
  expect(await one.record(7_000, AT + 9_010)).toBe(false);
  expect(await one.record(-14_000, AT)).toBe(true);
  expect(await other.read()).toEqual({ steps: 3, last: { ms: -14_000, at: AT } });
});

test('an unreadable record of steps counts as no steps', async () => {
  const { redis, prefix, process } = start();
  await redis.hset(`${prefix}:redis-clock`, 'steps', 'x');
  expect(await process().read()).toEqual(NO_STEPS);
});
