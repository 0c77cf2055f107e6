import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { localRedis } from '../../src/demo/local-redis.ts';
import { issueKeys } from '../../src/sandbox/api-keys.ts';
import { DEFAULT_SEED } from '../../src/sandbox/sandbox.ts';
import { folderFor } from '../support/delivery-case.ts';
import { docket } from '../support/docket.ts';
import { assertNone, KEEP_EACH_WRITE, leaksIn, leaksInRedis, PLANTED_SECRETS } from '../support/secret-scan.ts';

const SECRET = PLANTED_SECRETS.PLANTED_SECRET;

async function ownRedis() {
  const server = await localRedis({ PATH: process.env.PATH }, () => {}, KEEP_EACH_WRITE);
  const redis = new Redis(server.url);
  onTestFinished(async () => {
    redis.disconnect();
    await server.close();
  });
  return { redis, url: server.url };
}

test('the scan finds a secret in Redis in any kind of value, key and database, and even after its removal', async () => {
  const { redis, url } = await ownRedis();
  await redis.set('fine', 'nothing to see');
  expect(await leaksInRedis(url)).toEqual([]);
  const plant: readonly (() => Promise<unknown>)[] = [
    () => redis.set('a-string', `x${SECRET}x`),
    () => redis.hset('a-hash', 'field', SECRET),
    () => redis.hset('a-hash', SECRET, 'as a field'),
    () => redis.rpush('a-list', SECRET),
    () => redis.sadd('a-set', SECRET),
    () => redis.zadd('a-sorted-set', 1, SECRET),
    () => redis.xadd('a-stream', '*', 'field', SECRET),
    () => redis.set(`key:${SECRET}`, ''),
    () => redis.eval("redis.call('SET', KEYS[1], ARGV[1])", 1, 'by-a-script', SECRET),
    () => redis.select(9).then(() => redis.set('elsewhere', SECRET)),
  ];
  for (const [index, write] of plant.entries()) {
    await write();
    expect(await leaksInRedis(url), `after ${index + 1}`).toHaveLength(index + 1);
  }
  await redis.flushall();
  const leaks = await leaksInRedis(url);
  expect(leaks).toHaveLength(plant.length);
  expect(leaks[0]).toMatchObject({ what: 'a password of the tests', around: expect.stringContaining('a-string') });
  expect(JSON.stringify(leaks)).not.toContain('hunter2');
  expect(() => assertNone(leaks)).toThrowError(
    /10 secrets were let out:\n {2}a password of the tests: .*appendonly.*, byte \d+/,
  );
});

test.each([
  ['a key of the sandbox', issueKeys(DEFAULT_SEED, 0)[1]?.text ?? ''],
  ['a key of the sandbox', issueKeys(DEFAULT_SEED, 0)[1]?.text.split('.')[1] ?? ''],
  ['a token of the admin route', `docket_${'aB3_-'.repeat(8)}abc`],
  ['a header that authorizes', 'authorization: Basic bWU6cGFzc3dvcmQ='],
  ['a private key', '-----BEGIN RSA PRIVATE KEY-----'],
])('the scan finds %s in a file, even across two chunks', async (what, secret) => {
  const folder = await folderFor(onTestFinished);
  await mkdir(join(folder, 'below'));
  await writeFile(join(folder, 'below', 'fine.log'), '{"msg":"Docket runs"}\n'.repeat(100_000));
  expect(await leaksIn(folder)).toEqual([]);
  // A chunk of 1 MiB ends in the middle of the secret.
  const before = (1 << 20) - Math.floor(secret.length / 2);
  await writeFile(join(folder, 'below', 'one.log'), `${'-'.repeat(before)}${secret}${'-'.repeat(1 << 20)}`);
  const leaks = await leaksIn(folder);
  expect(leaks).toMatchObject([{ what, where: expect.stringContaining('one.log, byte ') }]);
  expect(() => assertNone(leaks)).toThrowError('1 secrets were let out');
});

test('every process of the tests has a planted secret in its environment and does not print it', async () => {
  const { stderr } = await docket(['start'], { env: { REDIS_URL: 'redis://127.0.0.1:1', LOG_LEVEL: 'loud' } });
  expect(stderr).toContain('LOG_LEVEL');
  expect(stderr).not.toContain(SECRET);
});
