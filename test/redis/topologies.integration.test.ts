import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { isCluster, redisName } from '../../src/redis/client.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { assertSuitable } from '../../src/redis/server-check.ts';
import { readRedisMemory } from '../../src/redis/server-info.ts';
import { type SentinelGroup, sentinelGroup, type TestCluster, testCluster } from '../support/cluster.ts';

describe('a Cluster of three masters', () => {
  let cluster: TestCluster;
  const closers: (() => unknown)[] = [];
  beforeAll(async () => {
    cluster = await testCluster();
  });
  afterAll(async () => {
    for (const close of closers) await close();
    await cluster.close();
  });
  const open = async (url: string) => {
    const redis = await openRedis(url, 'producer', silentLog);
    closers.push(() => redis.disconnect());
    return redis;
  };

  it('is opened by one of its nodes, and each master must be suitable', async () => {
    const redis = await open(`redis+cluster://127.0.0.1:${cluster.masters[1]?.port}`);
    for (const { port } of cluster.masters) expect(redisName(redis)).toContain(`127.0.0.1:${port}`);
    expect(await assertSuitable(redis, silentLog, { requireDurable: true })).toMatchObject({ logged: true });
    const { client } = await cluster.ownerOf('{elsewhere}');
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await expect(assertSuitable(redis, silentLog)).rejects.toMatchObject({
      code: 'redis.unsuitable',
      message: expect.stringContaining(`127.0.0.1:${client.options.port}`),
    });
    await client.config('SET', 'maxmemory-policy', 'noeviction');
    await client.config('SET', 'appendonly', 'no');
    await expect(assertSuitable(redis, silentLog, { requireDurable: true })).rejects.toMatchObject({
      code: 'redis.unsuitable',
      got: 'appendonly no',
    });
    await client.config('SET', 'appendonly', 'yes');
  });

  it('reports the memory of the master that is closest to its limit', async () => {
    const redis = await open(`redis+cluster://127.0.0.1:${cluster.masters[1]?.port}`);
    expect(await readRedisMemory(redis)).toMatchObject({ limitBytes: 0 });
    const { client } = await cluster.ownerOf('{elsewhere}');
    await client.config('SET', 'maxmemory', '100mb');
    expect(await readRedisMemory(redis)).toMatchObject({ limitBytes: 100 * 1024 * 1024 });
    await client.config('SET', 'maxmemory', '0');
  });

  it('is refused under the URL of a single server, with the right form of the URL', async () => {
    const redis = await open(`redis://127.0.0.1:${cluster.masters[0]?.port}`);
    await expect(assertSuitable(redis, silentLog)).rejects.toMatchObject({
      code: 'redis.unsuitable',
      next: expect.stringContaining('redis+cluster://'),
    });
  });

  it('that is unreachable gives an error without the password', async () => {
    const error = await openRedis('redis+cluster://me:hunter2@127.0.0.1:1', 'worker', silentLog).catch((e) => e);
    expect(error).toMatchObject({ code: 'redis.unreachable', next: expect.stringContaining('REDIS_URL') });
    expect(error.message).toContain('127.0.0.1:1');
    expect(JSON.stringify(error)).not.toContain('hunter2');
  });

  it('that refuses the login gives an error without the password', async () => {
    const error = await openRedis(cluster.url.replace('//', '//me:hunter2@'), 'producer', silentLog).catch((e) => e);
    expect(error).toMatchObject({ code: 'redis.unauthorized', where: 'REDIS_URL', retryable: true });
    expect(JSON.stringify(error)).not.toContain('hunter2');
  });
});

describe('a Sentinel group', () => {
  let group: SentinelGroup;
  beforeAll(async () => {
    group = await sentinelGroup();
  });
  afterAll(() => group.close());

  it('is opened by the name of its master', async () => {
    const redis = await openRedis(group.url, 'producer', silentLog);
    expect(redisName(redis)).toMatch(/^mymaster of the Sentinels 127\.0\.0\.1:/);
    await redis.set('here', '1');
    expect(await group.master.client.get('here')).toBe('1');
    redis.disconnect();
  });

  it('is reconnected even if a second reconnect interrupts the first', async () => {
    const redis = await openRedis(group.url, 'worker', silentLog);
    onTestFinished(() => redis.disconnect());
    if (isCluster(redis)) throw new Error('a client of one server');
    // `once` of node:events would reject because of the errors that ioredis emits meanwhile.
    const next = (event: string) => new Promise<void>((resolve) => redis.once(event, resolve));
    const connecting = next('connecting');
    redis.disconnect(true);
    await connecting;
    const gaveUp = next('end');
    redis.disconnect(true);
    await gaveUp;
    await next('ready');
    expect(await redis.ping()).toBe('PONG');
  });

  it('that does not know the master gives an error with its name', async () => {
    const error = await openRedis(group.url.replace('mymaster', 'other'), 'producer', silentLog).catch((e) => e);
    expect(error).toMatchObject({ code: 'redis.unreachable', message: expect.stringContaining('other') });
  });
});
