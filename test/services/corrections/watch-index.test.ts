import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { redisWatchIndex } from '../../../src/services/corrections/watch-index.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

test('one process at a time checks a run; checks and summaries are kept until they are replaced', async () => {
  const redis = new Redis(inject('redisUrl'));
  const prefix = randomPrefix();
  onTestFinished(async () => {
    const keys = await redis.keys(`${prefix}*`);
    if (keys.length > 0) await redis.del(...keys);
    redis.disconnect();
  });
  const index = redisWatchIndex(redis, { prefix });
  expect(await Promise.all([index.claim('r1', 'a', 60_000), index.claim('r1', 'b', 60_000)])).toEqual([true, false]);
  expect(await index.claim('r1', 'a', 60_000)).toBe(true);
  expect(await index.claim('r2', 'b', 60_000)).toBe(true);
  await index.recordCheck('r1', 5);
  await index.recordCheck('r2', 6);
  // The other process may have read the checks before this one was recorded.
  expect(await index.claim('r1', 'b', 60_000)).toBe(false);
  await index.retain(new Set(['r1']));
  expect([...(await index.checks())]).toEqual([['r1', 5]]);
  const summary = { at: 1, watched: 2, open: 1, oldest: 3 };
  await index.putSummaries([
    { org: 'b', ...summary },
    { org: 'a', ...summary },
  ]);
  await index.putSummaries([{ org: 'a', ...summary, open: 0, oldest: null }]);
  expect(await index.summaries()).toEqual([{ org: 'a', ...summary, open: 0, oldest: null }]);
});
