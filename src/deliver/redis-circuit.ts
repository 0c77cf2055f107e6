import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { readLua, runLua } from '../base/lua.ts';
import type { RedisClient } from '../base/redis-client.ts';
import { askRedis } from './ask-redis.ts';
import type { Circuit, CircuitNews } from './circuit.ts';

/** Failures within so long open it, for so long at first, doubling up to the most; a probe keeps others waiting so long. */
const FAILURES = 3;
const WITHIN_MS = 10 * 60_000;
const FIRST_MS = 60_000;
const MOST_MS = 10 * 60_000;
const PROBE_MS = 60_000;

const outageSchema = z.tuple([z.coerce.number(), z.string()]).nullable();
const newsSchema = z.tuple([z.enum(['opened', 'closed']), z.coerce.number()]).nullable();

/**
 * The circuit that all workers of one Redis share. Our own few lines: the libraries there are (opossum, cockatiel) keep
 * the state in the process, so that each worker would have to find out by itself, run by run.
 *
 * @param prefix in front of each key, its separator included
 * @param tell told once, in one of all processes, that a service is left alone, and once that it is back
 */
export function redisCircuit(
  redis: Pick<RedisClient, 'evalsha' | 'eval'>,
  options: { readonly prefix: string; readonly clock: Clock; readonly tell?: (news: CircuitNews) => void },
): Circuit {
  const { prefix, clock, tell = () => {} } = options;
  const ask = readLua('./circuit-ask-1.lua', import.meta.url);
  const end = readLua('./circuit-tell-1.lua', import.meta.url);
  const keyOf = (service: string): string => `${prefix}circuit:${service}`;

  const ended = async (service: string, how: 'answered' | 'failed', why: string, until?: number): Promise<void> => {
    const now = clock.now();
    const args = [now, how, why, FAILURES, WITHIN_MS, FIRST_MS, MOST_MS, until ?? ''];
    const answer = await askRedis('What is known of the target', () => runLua(redis, end, [keyOf(service)], args));
    const news = newsSchema.parse(answer);
    if (news === null) return;
    const [kind, at] = news;
    tell(kind === 'opened' ? { kind, service, until: at, why } : { kind, service, afterMs: now - at });
  };

  return {
    ask: async (service) => {
      const answer = await askRedis('What is known of the target', () =>
        runLua(redis, ask, [keyOf(service)], [clock.now(), PROBE_MS]),
      );
      const outage = outageSchema.parse(answer);
      return outage === null ? undefined : { until: outage[0], why: outage[1] };
    },
    answered: (service) => ended(service, 'answered', ''),
    failed: (service, why, until) => ended(service, 'failed', why, until),
  };
}
