import fc from 'fast-check';
import { Redis } from 'ioredis';
import { beforeAll, inject } from 'vitest';

// Every mutant gets the same random values, so that a score can be reproduced. Failing values are not shrunk.
fc.configureGlobal({ seed: 20261121, endOnFailure: true });

// Data that one mutant leaves behind must not make the tests of the next one fail.
beforeAll(async () => {
  const redis = new Redis(inject('redisUrl'));
  await redis.flushdb();
  redis.disconnect();
});
