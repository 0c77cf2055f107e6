import { systemClock } from '../../../dist-modules/base/clock.js';
import { Secret } from '../../../dist-modules/base/secrets/secret.js';
import { rateLimitedCall } from '../../../dist-modules/fetch/rate-limit/rate-limited-call.js';
import { redisBudget } from '../../../dist-modules/fetch/rate-limit/redis-budget.js';

/**
 * All calls are in the queue of the key at once, like the calls of many runs.
 *
 * @param {{
 *   redis: import('ioredis').Redis, prefix: string, limit: number, windowMs: number, key: string, name: string,
 *   ids: string[], api: import('../../../dist-modules/fetch/client/compliance-client.js').ComplianceClient,
 *   call: () => Promise<unknown>, keep: (id: string) => Promise<void>, signal: AbortSignal,
 * }} work
 */
export async function make({ redis, prefix, limit, windowMs, key, name, ids, api, call, keep, signal }) {
  /** @type {import('../../../dist-modules/fetch/rate-limit/rate-limited-call.js').RateLimitContext} */
  const line = {
    budget: redisBudget(redis, { prefix, calls: limit, windowMs }),
    clock: systemClock,
    key: new Secret(key).fingerprint(),
    org: name,
    priority: 'scheduled',
    maxWaitMs: Number.POSITIVE_INFINITY,
    requestTimeoutMs: api.requestTimeoutMs,
  };
  await Promise.all(
    ids.map(async (id) => {
      for (;;) {
        const outcome = await rateLimitedCall(line, { id, attempt: call, onWait: () => {}, signal });
        if (outcome.kind === 'done') break;
        // On a very busy machine, responses may come too late three times. A run would then be retried, and so is the
        // call.
        if (outcome.kind !== 'fail' || !outcome.error.retryable) throw new Error(JSON.stringify(outcome));
      }
      await keep(id);
    }),
  );
}
