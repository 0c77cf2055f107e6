import { expect, onTestFinished, test } from 'vitest';
import { createLockShortener } from '../../../src/queue/jobs/shorten-locks.ts';
import { redisKeys } from '../../../src/redis/keys.ts';
import { anOrder, openQueueHarness, recordingLog } from '../../support/queue-harness.ts';

const HOUR_MS = 3_600_000;

test('locks that a step back of Redis’ clock made longer end within half a minute, all others stay', async () => {
  const harness = await openQueueHarness();
  onTestFinished(() => harness.close());
  const { producer: redis, prefix, queue, runs } = harness;
  const key = (name: string) => `${redisKeys(prefix).bull}:runs:${name}`;
  // As a worker that died has left them, an hour before the clock went back by one.
  const [dead, live] = [anOrder(), anOrder()];
  for (const order of [dead, live]) {
    await runs.open(order);
    await queue.enqueue(order);
    await redis.zrem(key('prioritized'), order.id);
    await redis.lpush(key('active'), order.id);
  }
  await redis.set(key(`${dead.id}:lock`), 'worker', 'PX', HOUR_MS + 20_000);
  await redis.set(key(`${live.id}:lock`), 'worker', 'PX', 29_000);
  await redis.set(key('stalled-check'), '1', 'PX', HOUR_MS + 10_000);
  await redis.set(`${redisKeys(prefix).bull}:ticks:stalled-check`, '1', 'PX', HOUR_MS);
  const log = recordingLog();
  const shorten = createLockShortener(redis, { prefix, log });
  await shorten();
  const left = async (name: string) => redis.pttl(key(name));
  expect(await left(`${dead.id}:lock`)).toBeLessThanOrEqual(30_000);
  expect(await left('stalled-check')).toBeLessThanOrEqual(30_000);
  expect(await redis.pttl(`${redisKeys(prefix).bull}:ticks:stalled-check`)).toBeLessThanOrEqual(30_000);
  expect(await left(`${live.id}:lock`)).toBeLessThanOrEqual(29_000);
  expect(log.lines).toMatchObject([{ level: 'warn', count: 3 }]);
  await shorten();
  expect(log.lines).toHaveLength(1);
});
