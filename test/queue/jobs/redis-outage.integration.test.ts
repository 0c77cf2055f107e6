import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLog } from '../../../src/base/log.ts';
import { done } from '../../../src/base/outcome.ts';
import { runQueue } from '../../../src/queue/jobs/run-queue.ts';
import { type RunWorker, startWorker } from '../../../src/queue/jobs/worker.ts';
import { redisRunStore } from '../../../src/queue/runs/run-store.ts';
import type { RedisClient } from '../../../src/redis/client.ts';
import {
  deferred,
  onDemand,
  openQueueHarness,
  type QueueHarness,
  randomPrefix,
  reportDefinition,
  waitForRun,
} from '../../support/queue-harness.ts';
import { type RestartableRedis, restartableRedis } from '../../support/restartable-redis.ts';
import { waitFor } from '../../support/wait-for.ts';

const RESULT = { state: 'done', folder: '', files: [], calls: [], incomplete: [], receipts: [] } as const;

/** `once` from `node:events` would reject with the first refused reconnection. */
const readyAgain = (connection: RedisClient) =>
  new Promise<void>((resolve) => connection.once('ready', () => resolve()));

describe('while Redis is away', () => {
  let redis: RestartableRedis;
  let harness: QueueHarness;
  const workers: RunWorker[] = [];
  const children: ChildProcess[] = [];
  beforeEach(async () => {
    redis = await restartableRedis();
    harness = await openQueueHarness(systemClock, randomPrefix(), silentLog, redis.url);
  });
  afterEach(async () => {
    for (const worker of workers.splice(0)) await worker.close(0);
    for (const child of children.splice(0)) child.kill('SIGKILL');
    harness.producer.disconnect();
    harness.worker.disconnect();
    await redis.close();
  });

  it('a trigger fails at once and leaves nothing behind; it works again when Redis is back', async () => {
    await redis.kill();
    const request = onDemand(reportDefinition(), 'same');
    await expect(harness.trigger(request)).rejects.toMatchObject({ code: 'redis.unreachable' });
    const back = readyAgain(harness.producer);
    await redis.start();
    await back;
    expect(await harness.trigger(request)).toMatchObject({ opened: true });
    expect(await harness.runs.list({ limit: 10 })).toHaveLength(1);
  });

  it('a queue that was opened meanwhile works as soon as Redis is back', async () => {
    // Opens the queue in the turn of the kill: BullMQ sends a command before the client knows that the server is dead.
    const killed = redis.kill();
    const queue = runQueue(harness.producer, { prefix: harness.prefix });
    await killed;
    await expect(queue.counts()).rejects.toMatchObject({ code: 'redis.unreachable' });
    const back = readyAgain(harness.producer);
    await redis.start();
    await back;
    expect(await waitFor('the queue to answer', () => queue.counts().catch(() => undefined))).toEqual({
      waiting: 0,
      active: 0,
      delayed: 0,
      failed: 0,
    });
    await queue.close();
  });

  it('an active run continues, and its end is recorded when Redis is back', async () => {
    const { record } = await harness.trigger(onDemand(reportDefinition()));
    const started = deferred();
    const go = deferred();
    const store = redisRunStore(harness.worker, { prefix: harness.prefix, keepDays: 40 });
    const attempts: number[] = [];
    workers.push(
      startWorker({
        connection: harness.worker,
        prefix: harness.prefix,
        store,
        execute: async (_, { attempt }) => {
          attempts.push(attempt);
          started.tell();
          await go.promise;
          return done(RESULT);
        },
        clock: systemClock,
        log: silentLog,
        concurrency: 1,
      }),
    );
    await started.promise;
    await redis.kill();
    go.tell();
    const back = readyAgain(harness.worker);
    await redis.start();
    await back;
    await waitForRun({ runs: store }, record.id, 'done');
    expect(attempts).toEqual([1]);
  });

  it('a worker that is asked to stop lets its process exit', async () => {
    const child = fork(join(inject('children'), 'queue-child.mjs'), [redis.url, harness.prefix, 'works']);
    children.push(child);
    await once(child, 'message');
    await redis.kill();
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });
});
