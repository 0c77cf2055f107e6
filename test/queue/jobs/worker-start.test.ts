import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLog } from '../../../src/base/log.ts';
import { done } from '../../../src/base/outcome.ts';
import { startWorker } from '../../../src/queue/jobs/worker.ts';
import { redisRunStore } from '../../../src/queue/runs/run-store.ts';
import { freePort } from '../../support/free-port.ts';

test('a worker whose connection is refused at its start fails with redis.unreachable', async () => {
  const options = { lazyConnect: true, maxRetriesPerRequest: null, retryStrategy: () => null };
  const connection = new Redis(await freePort(), '127.0.0.1', options);
  connection.on('error', () => {});
  const worker = startWorker({
    connection,
    prefix: '{docket-start}',
    store: redisRunStore(connection, { prefix: '{docket-start}', keepDays: 40 }),
    execute: async () => done({ state: 'done', folder: '', files: [], calls: [], incomplete: [], receipts: [] }),
    clock: systemClock,
    log: silentLog,
    concurrency: 1,
  });
  await expect(worker.ready()).rejects.toMatchObject({ code: 'redis.unreachable' });
  connection.disconnect();
});
