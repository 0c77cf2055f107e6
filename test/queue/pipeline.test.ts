import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { repliesOf } from '../../src/queue/pipeline.ts';
import { aPrefix } from '../support/queue-bench.ts';

test('replies come in the order of their commands; one command that fails fails the whole, and names itself', async () => {
  const redis = new Redis(inject('redisUrl'));
  const key = aPrefix();
  onTestFinished(async () => {
    await redis.del(key);
    redis.disconnect();
  });
  expect(await repliesOf(redis.pipeline())).toEqual([]);
  expect(await repliesOf(redis.pipeline().set(key, 'text').strlen(key).get(`${key}:absent`))).toEqual(['OK', 4, null]);
  await expect(repliesOf(redis.pipeline().get(key).hgetall(key))).rejects.toThrow(/WRONGTYPE/);
});
