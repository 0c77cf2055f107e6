import { afterAll, beforeAll, expect, test } from 'vitest';
import { redisProcessRegistry } from '../../src/queue/process-registry.ts';
import { redisSchedulerHeartbeats } from '../../src/queue/schedules/scheduler-heartbeat.ts';
import { redisKeys } from '../../src/redis/keys.ts';
import { openQueueHarness, type QueueHarness, randomPrefix } from '../support/queue-harness.ts';

let harness: QueueHarness;
beforeAll(async () => {
  harness = await openQueueHarness();
});
afterAll(() => harness.close());

const counts = async (prefix: string) =>
  Object.fromEntries(await redisProcessRegistry(harness.producer, { prefix, self: 'reader' }).countByRole());

test('a process is counted once for each of its roles, until it leaves or gives up the role', async () => {
  const prefix = randomPrefix();
  expect(await counts(prefix)).toEqual({});
  const one = redisProcessRegistry(harness.producer, { prefix, self: 'one:1' });
  const other = redisProcessRegistry(harness.producer, { prefix, self: 'other:1' });
  await one.heartbeat(['worker', 'scheduler']);
  await one.heartbeat(['worker', 'scheduler']);
  await other.heartbeat(['worker']);
  expect(await counts(prefix)).toEqual({ worker: 2, scheduler: 1 });
  await one.heartbeat(['scheduler']);
  expect(await counts(prefix)).toEqual({ worker: 1, scheduler: 1 });
  await other.leave();
  await one.heartbeat([]);
  expect(await counts(prefix)).toEqual({});
});

test('a process that ended silently is forgotten after ninety seconds', async () => {
  const prefix = randomPrefix();
  await redisProcessRegistry(harness.producer, { prefix, self: 'one:1' }).heartbeat(['worker']);
  const [seconds] = await harness.producer.time();
  // Entries with times of the server's clock, as if they had been written then.
  await harness.producer.zadd(redisKeys(prefix).present, (Number(seconds) - 80) * 1000, 'worker lately:1');
  await harness.producer.zadd(redisKeys(prefix).present, (Number(seconds) - 100) * 1000, 'worker gone:1');
  expect(await counts(prefix)).toEqual({ worker: 2 });
  await redisProcessRegistry(harness.producer, { prefix, self: 'two:1' }).heartbeat(['admin']);
  expect(await harness.producer.zrangebyscore(redisKeys(prefix).present, '-inf', '+inf')).not.toContain(
    'worker gone:1',
  );
});

test('an older version is detected while it runs', async () => {
  const prefix = randomPrefix();
  const registry = redisProcessRegistry(harness.producer, { prefix, self: 'one:1' });
  await registry.heartbeat(['worker', 'admin']);
  expect(await registry.hasOlder()).toBe(false);
  const [seconds] = await harness.producer.time();
  // Version 0.2.0 registers its processes like this.
  await harness.producer.zadd(redisKeys(prefix).present, Number(seconds) * 1000, 'worker host:17:0a1b2c3d');
  expect(await registry.hasOlder()).toBe(true);
  await harness.producer.zadd(redisKeys(prefix).present, (Number(seconds) - 100) * 1000, 'worker host:17:0a1b2c3d');
  expect(await registry.hasOlder()).toBe(false);
});

test('every process can read when due slots were last checked, and which slot is stuck', async () => {
  const looks = redisSchedulerHeartbeats(harness.producer, { prefix: randomPrefix() });
  expect(await looks.last()).toBeNull();
  await looks.record({ at: 1_790_000_000_000, stuck: 1_789_000_000_000 });
  expect(await looks.last()).toEqual({ at: 1_790_000_000_000, stuck: 1_789_000_000_000 });
  await looks.record({ at: 1_790_000_060_000, stuck: null });
  expect(await looks.last()).toEqual({ at: 1_790_000_060_000, stuck: null });
});
