import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { BatchingRedis } from '../../src/redis/batching-redis.ts';
import { randomPrefix } from '../support/queue-harness.ts';

/** A client, the name of a key, and a plain client beside it. */
function clients() {
  const [redis, plain] = [new BatchingRedis(inject('redisUrl')), new Redis(inject('redisUrl'))];
  const key = randomPrefix();
  onTestFinished(async () => {
    await plain.del(key);
    for (const each of [redis, plain]) each.disconnect();
  });
  return { redis, plain, key };
}

test('commands of one turn keep their order, and each its own reply or error', async () => {
  const { redis, key } = clients();
  const [pushed, failed, transaction, length] = await Promise.allSettled([
    redis.rpush(key, 'a'),
    redis.incr(key),
    redis.multi().rpush(key, 'b').llen(key).exec(),
    redis.llen(key),
  ]);
  expect(pushed).toMatchObject({ value: 1 });
  expect(failed).toMatchObject({ reason: { message: expect.stringContaining('WRONGTYPE') } });
  expect(transaction).toMatchObject({
    value: [
      [null, 2],
      [null, 2],
    ],
  });
  expect(length).toMatchObject({ value: 2 });
});

test('commands that were not written when the connection broke are sent once over the next one', async () => {
  const { redis, plain, key } = clients();
  await redis.ping();
  const asked = [redis.incr(key), redis.incr(key)];
  redis.stream.destroy();
  expect(await Promise.all(asked)).toEqual([1, 2]);
  expect(await redis.incr(key)).toBe(3);
  expect(await plain.get(key)).toBe('3');
});

test('what was asked before the client is closed still reaches the server', async () => {
  const { redis, plain, key } = clients();
  await redis.ping();
  const asked = redis.incr(key);
  await redis.quit();
  expect(await asked).toBe(1);
  expect(await plain.get(key)).toBe('1');
});
