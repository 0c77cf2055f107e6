import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { loadLuaScript, runLuaScript } from '../base/lua.ts';
import type { RedisClient } from '../base/redis-client.ts';
import { withRedisErrorContext } from './ask-redis.ts';
import type { CircuitBreaker, CircuitEvent } from './circuit.ts';

/** Failures within so long open it, for so long at first, doubling up to the most; a probe keeps others waiting so long. */
const FAILURE_THRESHOLD = 3;
const FAILURE_WINDOW_MS = 10 * 60_000;
const MIN_OPEN_MS = 60_000;
const MAX_OPEN_MS = 10 * 60_000;
const PROBE_TIMEOUT_MS = 60_000;

const outageSchema = z.tuple([z.coerce.number(), z.string()]).nullable();
const circuitEventSchema = z.tuple([z.enum(['opened', 'closed']), z.coerce.number()]).nullable();

/**
 * The circuit that all workers of one Redis share. Our own few lines: the libraries there are (opossum, cockatiel) keep
 * the state in the process, so that each worker would have to find out by itself, run by run.
 *
 * @param prefix in front of each key, its separator included
 * @param tell told once, in one of all processes, that a service is left alone, and once that it is back
 */
export function redisCircuitBreaker(
  redis: Pick<RedisClient, 'evalsha' | 'eval'>,
  options: { readonly prefix: string; readonly clock: Clock; readonly tell?: (news: CircuitEvent) => void },
): CircuitBreaker {
  const { prefix, clock, tell = () => {} } = options;
  const ask = loadLuaScript('./circuit-ask-1.lua', import.meta.url);
  const end = loadLuaScript('./circuit-tell-1.lua', import.meta.url);
  const keyOf = (service: string): string => `${prefix}circuit:${service}`;

  const ended = async (service: string, how: 'answered' | 'failed', why: string, until?: number): Promise<void> => {
    const now = clock.now();
    const args = [now, how, why, FAILURE_THRESHOLD, FAILURE_WINDOW_MS, MIN_OPEN_MS, MAX_OPEN_MS, until ?? ''];
    const answer = await withRedisErrorContext('What is known of the target', () =>
      runLuaScript(redis, end, [keyOf(service)], args),
    );
    const news = circuitEventSchema.parse(answer);
    if (news === null) return;
    const [kind, at] = news;
    tell(kind === 'opened' ? { kind, service, until: at, why } : { kind, service, afterMs: now - at });
  };

  return {
    check: async (service) => {
      const answer = await withRedisErrorContext('What is known of the target', () =>
        runLuaScript(redis, ask, [keyOf(service)], [clock.now(), PROBE_TIMEOUT_MS]),
      );
      const outage = outageSchema.parse(answer);
      return outage === null ? undefined : { until: outage[0], why: outage[1] };
    },
    recordSuccess: (service) => ended(service, 'answered', ''),
    recordFailure: (service, why, until) => ended(service, 'failed', why, until),
  };
}
