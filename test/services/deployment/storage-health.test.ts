import { expect, onTestFinished, test } from 'vitest';
import { DocketError } from '../../../src/base/error.ts';
import { createScope } from '../../../src/base/scope.ts';
import { localRedis } from '../../../src/demo/local-redis.ts';
import { monitorStorage, redisProbe, type StorageProbe } from '../../../src/services/deployment/storage-health.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { openQueueHarness, randomPrefix, recordingLog } from '../../support/queue-harness.ts';

const NOW = Date.parse('2026-11-16T07:00:00Z');

/** Monitors one part, with the test's probe. */
async function watched(probe: StorageProbe['probe'], intervalMs = 60_000) {
  const scope = createScope();
  onTestFinished(() => scope.close());
  const clock = manualClock(NOW);
  const log = recordingLog();
  let probes = 0;
  const reported: boolean[] = [];
  const counted = async () => {
    probes += 1;
    await probe();
  };
  const part = { part: 'archive', intervalMs, probe: counted } as const;
  const health = await monitorStorage([part], { clock, log }, scope, (_, usable) => void reported.push(usable));
  return {
    health,
    log,
    told: reported,
    probes: () => probes,
    /** Advances the clock by this many times ten seconds. */
    later: async (times: number) => {
      for (let step = 0; step < times; step += 1) {
        await clock.slept();
        clock.advance(10_000);
      }
      await clock.slept();
    },
  };
}

const full = () =>
  new DocketError('archive.unwritable', 'The archive cannot be written.', {
    where: '/srv/secret-place',
    cause: Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' }),
  });

test('reading the health makes no probe: a healthy part is probed at its own interval', async () => {
  const own = await watched(async () => {});
  for (let requestCount = 0; requestCount < 100; requestCount += 1) own.health();
  expect(own.probes()).toBe(1);
  await own.later(6);
  expect(own.probes()).toBe(2);
  expect(own.health()).toMatchObject([{ name: 'archive', ok: true }]);
});

test('an unusable part is explained without its path, logged once and probed more often', async () => {
  let broken = true;
  const own = await watched(async () => {
    if (broken) throw full();
  });
  const [check] = own.health();
  expect(check).toMatchObject({ name: 'archive', ok: false, detail: expect.stringContaining('disk is full') });
  expect(JSON.stringify(check)).not.toContain('secret-place');
  await own.later(2);
  expect(own.probes()).toBe(3);
  expect(own.log.lines).toMatchObject([{ level: 'error', error: { where: '/srv/secret-place' } }]);
  broken = false;
  await own.later(1);
  expect(own.health()).toMatchObject([{ ok: true }]);
  expect(own.log.lines).toMatchObject([{ level: 'error' }, { level: 'info', ms: expect.any(Number) }]);
  expect(own.told).toEqual([false, false, false, true]);
});

test('Redis is not ready while it is full, read-only or may evict keys, and is ready again afterwards', async () => {
  const { REDIS_URL: _, ...env } = process.env;
  const server = await localRedis(env);
  onTestFinished(() => server.close());
  const harness = await openQueueHarness(undefined, randomPrefix(), undefined, server.url);
  onTestFinished(() => harness.close());
  const { producer: redis, prefix } = harness;
  const { probe } = redisProbe(redis, prefix);
  await probe();
  await redis.config('SET', 'maxmemory', '1');
  await expect(probe()).rejects.toMatchObject({ code: 'redis.out_of_memory' });
  await redis.config('SET', 'maxmemory', '0');
  await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
  await expect(probe()).rejects.toMatchObject({ code: 'redis.unsuitable', got: 'maxmemory-policy allkeys-lru' });
  await redis.config('SET', 'maxmemory-policy', 'noeviction');
  await probe();
  // Uses another client, because this one reconnects when it finds a replica.
  await harness.worker.replicaof('127.0.0.1', 1);
  await expect(probe()).rejects.toMatchObject({ code: 'redis.unreachable' });
  await harness.worker.replicaof('NO', 'ONE');
  await expect
    .poll(() =>
      probe().then(
        () => 'ready',
        () => 'not ready',
      ),
    )
    .toBe('ready');
});
