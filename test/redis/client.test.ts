import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { execPipeline } from '../../src/redis/client.ts';
import { randomPrefix } from '../support/queue-harness.ts';

test('a pipeline returns replies in the order of its commands, and rejects with the error of a failed command', async () => {
  const redis = new Redis(inject('redisUrl'));
  const key = randomPrefix();
  onTestFinished(async () => {
    await redis.del(key);
    redis.disconnect();
  });
  expect(await execPipeline(redis.pipeline())).toEqual([]);
  expect(await execPipeline(redis.pipeline().set(key, 'text').strlen(key).get(`${key}:absent`))).toEqual([
    'OK',
    4,
    null,
  ]);
  await expect(execPipeline(redis.pipeline().get(key).hgetall(key))).rejects.toThrow(/WRONGTYPE/);
});
