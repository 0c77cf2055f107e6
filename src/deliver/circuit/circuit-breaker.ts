import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import type { RedisClient } from '../../redis/client.ts';
import { beforeSending, withRedisErrors } from '../../redis/errors.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';

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
  const ask = loadLuaScript('./circuit-check-1.lua', import.meta.url);
  const end = loadLuaScript('./circuit-record-1.lua', import.meta.url);
  const keyOf = (service: string): string => `${prefix}circuit:${service}`;

  const ended = async (service: string, how: 'answered' | 'failed', why: string, until?: number): Promise<void> => {
    const now = clock.now();
    const args = [now, how, why, FAILURE_THRESHOLD, FAILURE_WINDOW_MS, MIN_OPEN_MS, MAX_OPEN_MS, until ?? ''];
    const answer = await withRedisErrors(
      undefined,
      () => runLuaScript(redis, end, [keyOf(service)], args),
      beforeSending("The state of the target's circuit"),
    );
    const news = circuitEventSchema.parse(answer);
    if (news === null) return;
    const [kind, at] = news;
    tell(kind === 'opened' ? { kind, service, until: at, why } : { kind, service, afterMs: now - at });
  };

  return {
    check: async (service) => {
      const answer = await withRedisErrors(
        undefined,
        () => runLuaScript(redis, ask, [keyOf(service)], [clock.now(), PROBE_TIMEOUT_MS]),
        beforeSending("The state of the target's circuit"),
      );
      const outage = outageSchema.parse(answer);
      return outage === null ? undefined : { until: outage[0], why: outage[1] };
    },
    recordSuccess: (service) => ended(service, 'answered', ''),
    recordFailure: (service, why, until) => ended(service, 'failed', why, until),
  };
}

/** A target's server that has been failing: nothing is tried there for a while. */
export interface Outage {
  /** Epoch ms. */
  readonly until: number;
  /** What it said last. */
  readonly why: string;
}

/**
 * What all workers together know of the servers behind targets: one that is down must not make every run wait for its
 * timeout. It opens after a few failures within a while, lets one try through from time to time, and closes when one
 * succeeds. A service is named without secrets, e.g. `mail smtp.example.com:587`.
 */
export interface CircuitBreaker {
  /** Undefined: go ahead. Whoever is let through after an outage was over is its probe, and the others wait for it. */
  check(service: string): Promise<Outage | undefined>;
  /** It did what was asked, or said something definite. */
  recordSuccess(service: string): Promise<void>;
  /** It could not be used. @param until epoch ms before which it asked to be left alone: that holds at once, for everybody */
  recordFailure(service: string, why: string, until?: number): Promise<void>;
}

/** Said once by all workers together. */
export type CircuitEvent =
  | { readonly kind: 'opened'; readonly service: string; readonly until: number; readonly why: string }
  | { readonly kind: 'closed'; readonly service: string; readonly afterMs: number };
