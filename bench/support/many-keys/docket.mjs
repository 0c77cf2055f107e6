import { setMaxListeners } from 'node:events';
import { Redis } from 'ioredis';
import { systemClock } from '../../../dist/base/clock.js';
import { paidCall } from '../../../dist/fetch/paid-call.js';
import { redisBudget } from '../../../dist/fetch/redis-budget.js';

export async function open({ redisUrl, limit, windowMs }) {
  const redis = new Redis(redisUrl);
  const budget = redisBudget(redis, { prefix: 'bench:', calls: limit, windowMs });
  const { signal } = new AbortController();
  // All calls of this process share one signal, and each listens to it; in a worker four calls of a run do.
  setMaxListeners(0, signal);
  const line = { budget, clock: systemClock, priority: 'scheduled', deadlineMs: 2_000 };
  return {
    call: async (key, id, attempt) => {
      const outcome = await paidCall(
        { ...line, key, org: key, patienceMs: Number.POSITIVE_INFINITY },
        { id, attempt, waiting: () => {}, signal },
      );
      if (outcome.kind !== 'done') throw new Error(JSON.stringify(outcome));
    },
    close: () => redis.disconnect(),
  };
}
