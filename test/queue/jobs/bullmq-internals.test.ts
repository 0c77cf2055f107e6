import { readFile } from 'node:fs/promises';
import { Queue, type QueueOptions, Worker } from 'bullmq';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { openQueueHarness } from '../../support/queue-harness.ts';

/*
 * Our code reads parts of BullMQ that are not in its API: where and how it keeps jobs in Redis. The version is pinned
 * exactly. After an upgrade, these tests show what has changed. docs/dependencies.md lists our files that depend on it.
 */

async function aQueue(settings: QueueOptions['settings'] = {}) {
  const harness = await openQueueHarness();
  const prefix = `${harness.prefix}:internals`;
  const queue = new Queue('jobs', { connection: harness.producer, prefix, settings });
  onTestFinished(async () => {
    await queue.close();
    await harness.close();
  });
  return { queue, prefix, redis: harness.producer, worker: harness.worker };
}

test('package.json pins the installed version of bullmq', async () => {
  const versionOf = z.looseObject({ version: z.string() });
  const file = z.looseObject({ dependencies: z.record(z.string(), z.string()) });
  const { dependencies } = file.parse(JSON.parse(await readFile('package.json', 'utf8')));
  const installed = versionOf.parse(JSON.parse(await readFile('node_modules/bullmq/package.json', 'utf8')));
  expect(dependencies.bullmq).toBe(installed.version);
});

test('waiting jobs are a sorted set by priority, then arrival; the upper 32 bits of a score are the priority', async () => {
  const { queue, redis } = await aQueue();
  for (const [jobId, priority] of Object.entries({ second: 7, third: 7, first: 3, last: 2 ** 21 - 1 })) {
    await queue.add('acme', {}, { jobId, priority });
  }
  const flat = await redis.zrange(queue.toKey('prioritized'), 0, '-1', 'WITHSCORES');
  expect(flat.filter((_, index) => index % 2 === 0)).toEqual(['first', 'second', 'third', 'last']);
  const scores = flat.filter((_, index) => index % 2 === 1).map(Number);
  expect(scores.map((score) => Math.floor(score / 0x1_0000_0000))).toEqual([3, 7, 7, 2 ** 21 - 1]);
  await expect(queue.add('acme', {}, { jobId: 'beyond', priority: 2 ** 21 })).rejects.toThrow();
});

test('a job is a hash with its name, and has finishedOn once it has ended', async () => {
  const { queue, prefix, redis, worker: connection } = await aQueue();
  await queue.add('acme', {}, { jobId: 'one', priority: 1, removeOnComplete: false });
  const fields = () => redis.hmget(queue.toKey('one'), 'name', 'finishedOn');
  expect(await fields()).toEqual(['acme', null]);
  expect(await redis.exists(queue.toKey('none'))).toBe(0);
  const removed: number[] = [];
  const whileActive = async () => void removed.push(await queue.remove('one'));
  const worker = new Worker('jobs', whileActive, { connection, prefix });
  await new Promise((resolve) => worker.once('completed', resolve));
  expect(await fields()).toEqual(['acme', expect.stringMatching(/^\d{13}$/)]);
  expect(await redis.zcard(queue.toKey('prioritized'))).toBe(0);
  await worker.close();
  // BullMQ ignores a new job with the id of an ended one until that is removed.
  await queue.add('acme', {}, { jobId: 'one', priority: 1 });
  expect((await fields())[1]).not.toBeNull();
  removed.push(await queue.remove('one'));
  expect(removed).toEqual([0, 1]);
  expect(await fields()).toEqual([null, null]);
});

test('a live job is in one sorted set or list, and has a lock while a worker executes it', async () => {
  const { queue, prefix, redis, worker: connection } = await aQueue();
  const places = async () => {
    const key = (name: string) => queue.toKey(name);
    const sets = await Promise.all(['prioritized', 'delayed'].map((name) => redis.zrange(key(name), 0, '-1')));
    const lists = await Promise.all(['active', 'wait', 'paused'].map((name) => redis.lrange(key(name), 0, -1)));
    return [...sets, ...lists].map((ids) => ids.length);
  };
  await queue.add('acme', {}, { jobId: 'one', priority: 1, delay: 3_600_000 });
  expect(await places()).toEqual([0, 1, 0, 0, 0]);
  await queue.remove('one');
  await queue.add('acme', {}, { jobId: 'one', priority: 1 });
  expect(await places()).toEqual([1, 0, 0, 0, 0]);
  const seen: unknown[] = [];
  const whileActive = async () => void seen.push(await places(), await redis.exists(`${queue.toKey('one')}:lock`));
  const worker = new Worker('jobs', whileActive, { connection, prefix });
  await new Promise((resolve) => worker.once('completed', resolve));
  expect(seen).toEqual([[0, 0, 1, 0, 0], 1]);
  expect(await redis.exists(`${queue.toKey('one')}:lock`)).toBe(0);
  expect(await places()).toEqual([0, 0, 0, 0, 0]);
  await worker.close();
  // The list "wait" has jobs without a priority, and jobs whose worker has died.
  await queue.add('acme', {}, { jobId: 'two' });
  expect(await places()).toEqual([0, 0, 0, 1, 0]);
});

test('a schedule is in the sorted set "repeat" by its next tick, which our strategy computes from the pattern', async () => {
  const next = Date.now() + 3_600_000;
  const requested: unknown[] = [];
  const repeatStrategy = (_: number, { pattern }: { readonly pattern?: string }) => {
    requested.push(pattern);
    return next;
  };
  const { queue, redis } = await aQueue({ repeatStrategy });
  const pattern = JSON.stringify({ not: 'a cron expression' });
  await queue.upsertJobScheduler('daily', { pattern }, { name: 'tick', data: {} });
  expect(new Set(requested)).toEqual(new Set([pattern]));
  expect(await redis.zrange(queue.toKey('repeat'), 0, '-1', 'WITHSCORES')).toEqual(['daily', String(next)]);
  expect(await redis.hget(queue.toKey(`repeat:daily:${next}`), 'name')).toBe('tick');
  await queue.removeJobScheduler('daily');
  expect(await redis.zcard(queue.toKey('repeat'))).toBe(0);
});
