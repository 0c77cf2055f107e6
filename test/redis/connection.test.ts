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

/** A fake server that answers INFO with this text, and every other command with OK. */
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

describe('an unsuitable Redis', () => {
  it.each([
    ['too old', 'redis_version:6.0.16\r\nloading:0\r\n', '6.0.16'],
    ['far too old', 'redis_version:5.0.14\r\nloading:0\r\n', '5.0.14'],
    ['silent about its version', 'loading:0\r\n', 'a server that reports no version'],
  ])('is refused if it is %s', async (_, info, got) => {
    const redis = await open(await answering(info));
    await expect(assertSuitable(redis, silentLog)).rejects.toMatchObject({
      code: 'redis.unsuitable',
      expected: 'version 6.2 or later',
      got,
    });
  });

  it('is refused if it keeps only snapshots and an append-only file is required', async () => {
    const redis = await open((await aRedis('--appendonly', 'no', '--save', '60 1')).url);
    expect(await assertSuitable(redis, silentLog)).toMatchObject({ logged: false, persistent: true });
    await expect(assertSuitable(redis, silentLog, { requireDurable: true })).rejects.toMatchObject({
      code: 'redis.unsuitable',
      got: 'snapshots only',
    });
  });

  it('is refused if its URL has another scheme', async () => {
    await expect(openRedis('http://127.0.0.1:6379', 'producer', silentLog)).rejects.toMatchObject({
      code: 'config.invalid',
    });
  });
});

it('a duplicate connection without listeners prints nothing when its server disappears', async () => {
  const redis = await aRedis();
  const client = await open(redis.url, 'worker');
  if (!(client instanceof Redis)) throw new TypeError('not a client of one server');
  const copy = client.duplicate({ lazyConnect: false, retryStrategy: () => 10 });
  closers.push(() => copy.disconnect());
  await new Promise<void>((resolve) => copy.once('ready', resolve));
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
  closers.push(() => printed.mockRestore());
  await redis.close();
  // The second attempt starts after the first one has failed.
  for (let attempt = 0; attempt < 2; attempt += 1)
    await new Promise<void>((resolve) => copy.once('reconnecting', () => resolve()));
  expect(printed.mock.calls).toEqual([]);
});

describe('the memory of a Redis', () => {
  it('is read with its limit, and is unknown without the permission for INFO', async () => {
    const redis = await open((await aRedis('--maxmemory', '50mb')).url);
    const memory = await readRedisMemory(redis);
    expect(memory?.limitBytes).toBe(50 * 1024 * 1024);
    expect(memory?.usedBytes).toBeGreaterThan(0);
    await redis.call('ACL', 'SETUSER', 'default', '-info');
    expect(await readRedisMemory(redis)).toBeNull();
  });
});

describe('opening Redis', () => {
  it('fails with host and port but without the password if nothing listens', async () => {
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

  it('refuses a database number that the server does not have', async () => {
    const { url } = await aRedis('--databases', '2');
    await open(`${url}/1`);
    await expect(openRedis(`${url}/7`, 'producer', silentLog)).rejects.toMatchObject({ code: 'redis.unreachable' });
  });

  it('fails if the server accepts the connection but never answers', async () => {
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

  it('fails as unauthorized if the password is wrong', async () => {
    const { url } = await aRedis();
    await (await open(url)).config('SET', 'requirepass', 'c0rrect');
    const wrong = url.replace('redis://', 'redis://:wr0ng@');
    const error = await openRedis(wrong, 'producer', silentLog).catch((e) => e);
    expect(error).toMatchObject({ code: 'redis.unauthorized', where: 'REDIS_URL', retryable: true });
    expect(JSON.stringify(error)).not.toMatch(/wr0ng|c0rrect/);
  });

  it('gives a producer that fails at once when the server disappears', async () => {
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
  it('is accepted, and its policy and version are returned', async () => {
    const log = recordingLog();
    const redis = await open(inject('redisUrl'));
    const facts = await assertSuitable(redis, log);
    expect(facts).toMatchObject({ policy: 'noeviction', version: expect.stringMatching(/^\d+\.\d+/) });
  });

  it('must not evict keys', async () => {
    const { url } = await aRedis('--maxmemory-policy', 'allkeys-lru');
    await expect(assertSuitable(await open(url), silentLog)).rejects.toMatchObject({
      code: 'redis.unsuitable',
      got: 'maxmemory-policy allkeys-lru',
      next: expect.stringContaining('noeviction'),
    });
  });

  it('should keep data on disk; otherwise a warning is logged', async () => {
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

  it('that is full gives a retryable error about memory', async () => {
    const { url } = await aRedis();
    const redis = await open(url);
    await redis.config('SET', 'maxmemory', '1');
    await expect(withRedisErrors(redis, () => redis.set('a', 'b'))).rejects.toMatchObject({
      code: 'redis.out_of_memory',
      retryable: true,
    });
  });
});

describe('a Redis that repeats the password in an error', () => {
  it.each([
    (password: string) => `-ERR unknown command 'auth', with args beginning with: '${password}'\r\n`,
    (password: string) => `-WRONGPASS ${password} ${encodeURIComponent(password)} is wrong\r\n`,
  ])('gives an error without the password', async (reply) => {
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
