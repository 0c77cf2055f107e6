import { createServer } from 'node:net';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, it, vi } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { localRedis } from '../../src/demo/local-redis.ts';
import { redisRunStore } from '../../src/queue/runs/run-store.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { withRedisErrors } from '../../src/redis/errors.ts';
import { assertSuitable } from '../../src/redis/server-check.ts';
import { readRedisMemory } from '../../src/redis/server-info.ts';
import { freePort } from '../support/free-port.ts';
import { anOrder, recordingLog } from '../support/queue-harness.ts';
import { encodingsFoundIn } from '../support/secret-encodings.ts';

const closers: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});
const aRedis = async (...options: string[]) => {
  const { REDIS_URL: _, ...env } = process.env;
  const redis = await localRedis(env, () => {}, options);
  closers.push(() => redis.close());
  return redis;
};
const open = async (url: string, role: 'producer' | 'worker' = 'producer') => {
  const redis = await openRedis(url, role, silentLog);
  closers.push(() => redis.disconnect());
  return redis;
};

/** A server that claims to be another: it answers every command with this, or OK. */
async function answering(info: string): Promise<string> {
  const server = createServer((socket) => {
    closers.push(() => socket.destroy());
    socket.on('data', (chunk) => {
      for (const command of chunk.toString('latin1').split(/(?=\*\d+\r\n\$)/)) {
        socket.write(/\r\ninfo\r\n/i.test(command) ? `$${info.length}\r\n${info}\r\n` : '+OK\r\n');
      }
    });
  }).listen(0, '127.0.0.1');
  closers.push(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  return `redis://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;
}

describe('a Redis that is not the one we need', () => {
  it.each([
    ['too old', 'redis_version:6.0.16\r\nloading:0\r\n', '6.0.16'],
    ['far too old', 'redis_version:5.0.14\r\nloading:0\r\n', '5.0.14'],
    ['silent about its version', 'loading:0\r\n', 'a server that reports no version'],
  ])('is refused when it is %s', async (_, info, got) => {
    const redis = await open(await answering(info));
    await expect(assertSuitable(redis, silentLog)).rejects.toMatchObject({
      code: 'redis.unsuitable',
      expected: 'version 6.2 or later',
      got,
    });
  });

  it('is refused when it keeps snapshots alone and the log of writes is insisted on', async () => {
    const redis = await open((await aRedis('--appendonly', 'no', '--save', '60 1')).url);
    expect(await assertSuitable(redis, silentLog)).toMatchObject({ logged: false, persistent: true });
    await expect(assertSuitable(redis, silentLog, { requireDurable: true })).rejects.toMatchObject({
      code: 'redis.unsuitable',
      got: 'snapshots alone',
    });
  });

  it('is refused when its URL names none', async () => {
    await expect(openRedis('http://127.0.0.1:6379', 'producer', silentLog)).rejects.toMatchObject({
      code: 'config.invalid',
    });
  });
});

it('prints nothing for a duplicate whose listeners BullMQ has removed when its server goes away', async () => {
  const redis = await aRedis();
  const client = await open(redis.url, 'worker');
  if (!(client instanceof Redis)) throw new TypeError('not a client of one server');
  const copy = client.duplicate({ lazyConnect: false, retryStrategy: () => 10 });
  closers.push(() => copy.disconnect());
  await new Promise<void>((resolve) => copy.once('ready', resolve));
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
  closers.push(() => printed.mockRestore());
  await redis.close();
  // The second attempt comes after the first one has failed.
  for (let attempt = 0; attempt < 2; attempt += 1)
    await new Promise<void>((resolve) => copy.once('reconnecting', () => resolve()));
  expect(printed.mock.calls).toEqual([]);
});

describe('the memory of a Redis', () => {
  it('is told with its limit, and is unknown where we may not ask', async () => {
    const redis = await open((await aRedis('--maxmemory', '50mb')).url);
    const memory = await readRedisMemory(redis);
    expect(memory?.limitBytes).toBe(50 * 1024 * 1024);
    expect(memory?.usedBytes).toBeGreaterThan(0);
    await redis.call('ACL', 'SETUSER', 'default', '-info');
    expect(await readRedisMemory(redis)).toBeNull();
  });
});

describe('opening Redis', () => {
  it('tells host and port, and never the password, when nothing listens', async () => {
    const port = await freePort();
    const error = await openRedis(`redis://user:s3cret@127.0.0.1:${port}`, 'producer', silentLog).catch((e) => e);
    expect(error).toMatchObject({
      code: 'redis.unreachable',
      where: 'REDIS_URL',
      next: expect.stringContaining('REDIS_URL'),
    });
    expect(error.message).toContain(`127.0.0.1:${port}`);
    expect(error.got).toMatch(/ECONNREFUSED/);
    expect(JSON.stringify(error)).not.toMatch(/s3cret/);
  });

  it('refuses a database that the server does not have, instead of working in another one', async () => {
    const { url } = await aRedis('--databases', '2');
    await open(`${url}/1`);
    await expect(openRedis(`${url}/7`, 'producer', silentLog)).rejects.toMatchObject({ code: 'redis.unreachable' });
  });

  it('gives up on a server that accepts and never answers', async () => {
    const server = createServer(() => {}).listen(0, '127.0.0.1');
    closers.push(() => server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const address = server.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    await expect(openRedis(`redis://127.0.0.1:${port}`, 'worker', silentLog)).rejects.toMatchObject({
      code: 'redis.unreachable',
      got: expect.stringContaining('no answer within'),
    });
  });

  it('says that it is refused when the password is wrong', async () => {
    const { url } = await aRedis();
    await (await open(url)).config('SET', 'requirepass', 'c0rrect');
    const wrong = url.replace('redis://', 'redis://:wr0ng@');
    const error = await openRedis(wrong, 'producer', silentLog).catch((e) => e);
    expect(error).toMatchObject({ code: 'redis.unauthorized', where: 'REDIS_URL', retryable: true });
    expect(JSON.stringify(error)).not.toMatch(/wr0ng|c0rrect/);
  });

  it('fails a producer at once, with the cause, when the server goes away', async () => {
    const { REDIS_URL: _, ...env } = process.env;
    const server = await localRedis(env);
    const redis = await open(server.url);
    const store = redisRunStore(redis, { prefix: '{gone}', keepDays: 40 });
    await store.open(anOrder());
    await server.close();
    await expect(store.open(anOrder())).rejects.toMatchObject({ code: 'redis.unreachable' });
    await expect(store.list({ limit: 1 })).rejects.toMatchObject({ code: 'redis.unreachable' });
  });
});

describe('a suitable Redis', () => {
  it('is accepted with what was found out about it', async () => {
    const log = recordingLog();
    const redis = await open(inject('redisUrl'));
    const facts = await assertSuitable(redis, log);
    expect(facts).toMatchObject({ policy: 'noeviction', version: expect.stringMatching(/^\d+\.\d+/) });
  });

  it('does not evict', async () => {
    const { url } = await aRedis('--maxmemory-policy', 'allkeys-lru');
    await expect(assertSuitable(await open(url), silentLog)).rejects.toMatchObject({
      code: 'redis.unsuitable',
      got: 'maxmemory-policy allkeys-lru',
      next: expect.stringContaining('noeviction'),
    });
  });

  it('keeps something on disk, or a warning says that it does not', async () => {
    const log = recordingLog();
    const { url } = await aRedis('--appendonly', 'no');
    const redis = await open(url);
    expect(await assertSuitable(redis, log)).toMatchObject({ persistent: false });
    expect(log.lines).toEqual([
      expect.objectContaining({ level: 'warn', message: expect.stringContaining('appendonly') }),
    ]);
    await redis.config('SET', 'save', '3600 1');
    expect(await assertSuitable(redis, log)).toMatchObject({ persistent: true });
    expect(log.lines).toHaveLength(1);
  });

  it('that is full says so', async () => {
    const { url } = await aRedis();
    const redis = await open(url);
    await redis.config('SET', 'maxmemory', '1');
    await expect(withRedisErrors(redis, () => redis.set('a', 'b'))).rejects.toMatchObject({
      code: 'redis.out_of_memory',
      retryable: true,
    });
  });
});

describe('a Redis that repeats the password', () => {
  it.each([
    (password: string) => `-ERR unknown command 'auth', with args beginning with: '${password}'\r\n`,
    (password: string) => `-WRONGPASS ${password} ${encodeURIComponent(password)} is wrong\r\n`,
  ])('is told without it', async (reply) => {
    const password = 'Red1s/Pa55+word=';
    const server = createServer((socket) => {
      closers.push(() => socket.destroy());
      socket.on('error', () => {});
      socket.on('data', () => socket.write(reply(password)));
    }).listen(0, '127.0.0.1');
    closers.push(() => server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const address = server.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    const failed: unknown = await openRedis(
      `redis://:${encodeURIComponent(password)}@127.0.0.1:${port}`,
      'producer',
      silentLog,
    ).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: expect.stringMatching(/^redis\./) });
    expect(encodingsFoundIn(JSON.stringify(failed), password)).toEqual([]);
  });
});
