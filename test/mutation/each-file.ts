import fc from 'fast-check';
import { Redis } from 'ioredis';
import { beforeAll, inject } from 'vitest';

// The same draws for every mutant, so that a score can be had again; and no search for the smallest that fails.
fc.configureGlobal({ seed: 20261121, endOnFailure: true });

// What one mutant left behind must not make the tests of the next one fail.
beforeAll(async () => {
  const redis = new Redis(inject('redisUrl'));
  await redis.flushdb();
  redis.disconnect();
});
