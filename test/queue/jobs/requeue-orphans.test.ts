import { expect, onTestFinished, test, vi } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { createOrphanRequeuer } from '../../../src/queue/jobs/requeue-orphans.ts';
import { runQueue } from '../../../src/queue/jobs/run-queue.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { anOrder, openQueueHarness } from '../../support/queue-harness.ts';

async function runsInQueue() {
  const harness = await openQueueHarness();
  onTestFinished(() => harness.close());
  const start = Date.now() - 3_600_000;
  return {
    ...harness,
    clock: manualClock(Date.now()),
    log: silentLog,
    /** Opens an unfinished run, `ms` after the first one. */
    open: async (ms: number, queued: boolean): Promise<string> => {
      const order = anOrder({ createdAt: start + ms });
      await harness.runs.open(order);
      if (queued) await harness.queue.enqueue(order);
      return order.id;
    },
  };
}

test('runs without a job are found even behind more runs than one look checks', async () => {
  const own = await runsInQueue();
  for (let index = 0; index < 5; index += 1) await own.open(index, true);
  // Four of these runs have the same instant: more than one look checks.
  const lost = [await own.open(5, false)];
  for (let index = 0; index < 4; index += 1) lost.push(await own.open(6, false));
  const look = createOrphanRequeuer(own, 3);
  expect(await own.queue.findOrphaned(lost)).toEqual(lost);
  const found = [await look(), await look(), await look(), await look()];
  expect(found).toEqual([0, 1, 3, 1]);
  expect(await own.queue.findOrphaned(lost)).toEqual([]);
  // The next look starts with the oldest run again.
  const oldest = await own.open(-1, false);
  expect(await look()).toBe(1);
  expect(await own.queue.findOrphaned([oldest])).toEqual([]);
});

test('the look after a failed one checks the same runs', async () => {
  const own = await runsInQueue();
  for (let index = 0; index < 3; index += 1) await own.open(index, false);
  let away = true;
  const findOrphaned: typeof own.queue.findOrphaned = async (ids) => {
    if (away) throw new Error('away');
    return own.queue.findOrphaned(ids);
  };
  const look = createOrphanRequeuer({ ...own, queue: { ...own.queue, findOrphaned } }, 2);
  await expect(look()).rejects.toThrow('away');
  away = false;
  expect([await look(), await look()]).toEqual([2, 1]);
});

test('a run whose id is in several lists without a job is enqueued once', async () => {
  const own = await runsInQueue();
  const id = await own.open(0, true);
  const { producer: redis, prefix } = own;
  const key = (name: string) => `${prefix}:bull:runs:${name}`;
  await redis.del(key(id));
  await redis.lpush(key('active'), id);
  await redis.rpush(key('wait'), id, id);
  await redis.zadd(key('delayed'), 1, id);
  await redis.sadd(key('stalled'), id);
  expect(await createOrphanRequeuer(own)()).toBe(1);
  expect(await redis.zrange(key('prioritized'), 0, '-1')).toEqual([id]);
  expect(await redis.exists(key('active'), key('wait'), key('delayed'), key('stalled'))).toBe(0);
  expect(await redis.hget(key(id), 'name')).toBe('acme');
  expect(await createOrphanRequeuer(own)()).toBe(0);
});

test('a locked job in no list is left to its worker until the lock expires', async () => {
  const own = await runsInQueue();
  const id = await own.open(0, true);
  const { producer: redis, prefix } = own;
  const key = (name: string) => `${prefix}:bull:runs:${name}`;
  await redis.zrem(key('prioritized'), id);
  await redis.set(`${key(id)}:lock`, 'a worker');
  expect(await own.queue.findOrphaned([id])).toEqual([]);
  expect(await createOrphanRequeuer(own)()).toBe(0);
  await redis.del(`${key(id)}:lock`);
  expect(await createOrphanRequeuer(own)()).toBe(1);
});

test('a running run without a job is enqueued by the second look, because its worker may not have noticed', async () => {
  const own = await runsInQueue();
  const id = await own.open(0, true);
  await own.runs.update(id, { state: 'running' });
  await own.producer.zrem(`${own.prefix}:bull:runs:prioritized`, id);
  const look = createOrphanRequeuer(own);
  expect([await look(), await look(), await look()]).toEqual([0, 1, 0]);
});

test('two reconcilers at the same time enqueue each run once', async () => {
  const own = await runsInQueue();
  const ids = await Promise.all(Array.from({ length: 20 }, (_, index) => own.open(index, true)));
  await own.producer.del(`${own.prefix}:bull:runs:prioritized`);
  await Promise.all([createOrphanRequeuer(own)(), createOrphanRequeuer(own)()]);
  expect((await own.producer.zrange(`${own.prefix}:bull:runs:prioritized`, 0, '-1')).sort()).toEqual(ids.sort());
});

test('a queue whose first connection failed still enqueues a run', async () => {
  const { producer, prefix, runs } = await runsInQueue();
  vi.spyOn(producer, 'info').mockRejectedValueOnce(new Error('Command timed out'));
  const queue = runQueue(producer, { prefix });
  onTestFinished(() => queue.close());
  const order = anOrder();
  await runs.open(order);
  await queue.enqueue(order);
  expect(await queue.findOrphaned([order.id])).toEqual([]);
});
