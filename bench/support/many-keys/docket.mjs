import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { systemClock } from '../../../dist-modules/base/clock.js';
import { rateLimitedCall } from '../../../dist-modules/fetch/rate-limit/rate-limited-call.js';
import { redisBudget } from '../../../dist-modules/fetch/rate-limit/redis-budget.js';

export async function open({ redisUrl, limit, windowMs }) {
  const redis = new Redis(redisUrl);
  const budget = redisBudget(redis, { prefix: 'bench:', calls: limit, windowMs });
  // The calls of a key share a signal, like those of a run: removing a listener searches all listeners.
  const signals = new Map();
  const signalOf = (key) => {
    const known = signals.get(key) ?? new AbortController().signal;
    signals.set(key, known);
    return known;
  };
  /** @type {Omit<import('../../../dist-modules/fetch/rate-limit/rate-limited-call.js').RateLimitContext, 'key' | 'org' | 'maxWaitMs'>} */
  const line = { budget, clock: systemClock, priority: 'scheduled', requestTimeoutMs: 2_000 };
  let again = 0;
  const call = async (key, id, attempt) => {
    try {
      const outcome = await rateLimitedCall(
        { ...line, key, org: key, maxWaitMs: Number.POSITIVE_INFINITY },
        { id, attempt, onWait: () => {}, signal: signalOf(key) },
      );
      if (outcome.kind !== 'done') throw new Error(JSON.stringify(outcome));
    } catch (error) {
      // Redis was too busy to answer in time. A run would be retried, and so is the call, but late enough that retries
      // do not keep Redis busy.
      if (error.code !== 'redis.unreachable') throw error;
      again += 1;
      await sleep(windowMs);
      await call(key, id, attempt);
    }
  };
  return {
    call,
    /** How often Redis did not answer in time. */
    askedAgain: () => again,
    close: () => redis.disconnect(),
  };
}
