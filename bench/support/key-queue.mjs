import { setMaxListeners } from 'node:events';
import { Redis } from 'ioredis';
import { systemClock } from '../../dist-modules/base/clock.js';
import { Secret } from '../../dist-modules/base/secrets/secret.js';
import { createClient } from '../../dist-modules/fetch/client/compliance-client.js';
import { rateLimitedCall } from '../../dist-modules/fetch/rate-limit/rate-limited-call.js';
import { redisBudget } from '../../dist-modules/fetch/rate-limit/redis-budget.js';
import { REQUEST } from './service.mjs';

/**
 * The line of one key with any number of real calls, all of this process. `answers` has the budget's response to each
 * request for a token (`tokens`: left afterwards), in the order of Redis, because a single connection answers in order.
 */
export function lineOf({ redisUrl, service, limit, windowMs }) {
  const redis = new Redis(redisUrl);
  const prefix = `bench:${process.pid}:${Math.random()}:`;
  const real = redisBudget(redis, { prefix, calls: limit, windowMs });
  const api = createClient({ baseUrl: service.url, key: new Secret(service.key) });
  const key = new Secret(service.key).fingerprint();
  const closing = new AbortController();
  // All calls share one signal, and each adds a listener to it. In a worker, only the four calls of a run share one.
  setMaxListeners(0, closing.signal);
  const answers = [];
  /** @type {import('../../dist-modules/fetch/rate-limit/budget.js').Budget} */
  const budget = {
    ...real,
    acquire: async (request) => {
      const answer = await real.acquire(request);
      const { granted, tokens } = answer;
      answers.push({ id: request.id, org: request.org, granted, tokens, at: Date.now() });
      return answer;
    },
  };
  const under = new Set();
  return {
    answers,
    /**
     * Resolves when the call has been answered, or to undefined if the line was closed before.
     *
     * @param {{ id: string, org: string, priority: import('../../dist-modules/fetch/rate-limit/budget.js').Priority }}
     * call
     */
    call: ({ id, org, priority }) => {
      const line = { budget, clock: systemClock, key, org, priority, requestTimeoutMs: api.requestTimeoutMs };
      const made = rateLimitedCall(
        { ...line, maxWaitMs: Number.POSITIVE_INFINITY },
        {
          id,
          attempt: () => api.report('current', REQUEST, closing.signal),
          onWait: () => {},
          signal: closing.signal,
        },
      ).catch((error) => {
        if (!closing.signal.aborted) throw error;
      });
      under.add(made);
      return made;
    },
    waiting: async () => (await real.inspect(key)).waiting,
    close: async () => {
      closing.abort(new Error('the bench is over'));
      await Promise.allSettled(under);
      await api.close();
      redis.disconnect();
    },
  };
}
