import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { MINUTE_MS } from '../../base/time.ts';
import type { RedisClient } from '../../redis/client.ts';
import { beforeSending, withRedisErrors } from '../../redis/errors.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';

/** A service that failed: nothing is sent to it for a while. */
export interface Outage {
  /** Epoch ms. */
  readonly until: number;
  /** Its last failure. */
  readonly why: string;
}

/**
 * The state of the servers behind targets, shared by all workers, so that not every run waits for the timeout of a server
 * that is down. It opens after some failures within a window, lets one probe through from time to time, and closes when one
 * succeeds. Names of services contain no secrets, e.g. `mail smtp.example.com:587`.
 */
export interface CircuitBreaker {
  /**
   * Undefined: send. The first caller after an outage has ended is the probe; the others still get the outage.
   * @param askedAt epoch ms at which a person asked for the attempt: it is a probe unless the service has failed since
   */
  check(service: string, askedAt?: number): Promise<Outage | undefined>;
  /** The service did what was requested, or refused definitely. */
  recordSuccess(service: string): Promise<void>;
  /** @param until epoch ms of the service's `Retry-After`, which applies at once and to all workers */
  recordFailure(service: string, why: string, until?: number): Promise<void>;
}

/** Emitted once across all workers. */
export type CircuitEvent =
  | { readonly kind: 'opened'; readonly service: string; readonly until: number; readonly why: string }
  | { readonly kind: 'closed'; readonly service: string; readonly afterMs: number };

/** It opens after this many failures within the window. */
const FAILURE_THRESHOLD = 3;
const FAILURE_WINDOW_MS = 10 * MINUTE_MS;
/** It opens for this long first, doubled after each failed probe up to the maximum. */
const MIN_OPEN_MS = MINUTE_MS;
const MAX_OPEN_MS = 10 * MINUTE_MS;
/** Others wait this long for a probe. */
const PROBE_TIMEOUT_MS = MINUTE_MS;

/** Hash: service → epoch ms at which its circuit opened. */
const indexKey = (prefix: string): string => `${prefix}circuits`;
const circuitKey = (prefix: string, service: string): string => `${prefix}circuit:${service}`;

/** A service that is not used at the moment. */
export interface OpenCircuit {
  readonly service: string;
  /** Epoch ms. */
  readonly since: number;
  /** Its last failure. */
  readonly why: string;
}

/** The open circuits, also those that wait for the result of a probe. Throws `redis.unreachable`. */
export const listOpenCircuits = (redis: RedisClient, { prefix }: { readonly prefix: string }): Promise<OpenCircuit[]> =>
  withRedisErrors(redis, async () => {
    const opened = Object.entries(await redis.hgetall(indexKey(prefix)));
    const found = await Promise.all(
      opened.map(async ([service, since]): Promise<OpenCircuit[]> => {
        const [until, why] = await redis.hmget(circuitKey(prefix, service), 'until', 'why');
        if (until != null) return [{ service, since: Number(since), why: why ?? '' }];
        // Nobody uses the service any more.
        await redis.hdel(indexKey(prefix), service).catch(() => {});
        return [];
      }),
    );
    return found.flat().sort((a, b) => a.since - b.since);
  });

const outageReplySchema = z.tuple([z.coerce.number(), z.string()]).nullable();
const eventReplySchema = z.tuple([z.enum(['opened', 'closed']), z.coerce.number()]).nullable();

/**
 * A circuit breaker in Redis. Libraries such as opossum and cockatiel keep the state in the process: each worker would
 * detect the same outage separately.
 *
 * @param options.prefix of every key, with its separator
 */
export function redisCircuitBreaker(
  redis: RedisClient,
  options: { readonly prefix: string; readonly clock: Clock; readonly onEvent?: (event: CircuitEvent) => void },
): CircuitBreaker {
  const { prefix, clock, onEvent = () => {} } = options;
  const checkScript = loadLuaScript('./circuit-check-1.lua', import.meta.url);
  const recordScript = loadLuaScript('./circuit-record-1.lua', import.meta.url);
  const keyOf = (service: string): string => circuitKey(prefix, service);
  const withContext = <T>(command: () => Promise<T>): Promise<T> =>
    withRedisErrors(undefined, command, beforeSending('The circuit breaker of the target'));

  const record = async (service: string, result: 'success' | 'failure', why: string, until?: number): Promise<void> => {
    const now = clock.now();
    const args = [now, result, why, FAILURE_THRESHOLD, FAILURE_WINDOW_MS, MIN_OPEN_MS, MAX_OPEN_MS, until ?? ''];
    const reply = await withContext(() => runLuaScript(redis, recordScript, [keyOf(service)], args));
    const change = eventReplySchema.parse(reply);
    if (change === null) return;
    const [kind, at] = change;
    const index = indexKey(prefix);
    await withContext<unknown>(() =>
      kind === 'opened' ? redis.hset(index, service, now) : redis.hdel(index, service),
    );
    onEvent(kind === 'opened' ? { kind, service, until: at, why } : { kind, service, afterMs: now - at });
  };

  return {
    check: async (service, askedAt) => {
      const args = [clock.now(), PROBE_TIMEOUT_MS, askedAt ?? ''];
      const reply = await withContext(() => runLuaScript(redis, checkScript, [keyOf(service)], args));
      const outage = outageReplySchema.parse(reply);
      return outage === null ? undefined : { until: outage[0], why: outage[1] };
    },
    recordSuccess: (service) => record(service, 'success', ''),
    recordFailure: (service, why, until) => record(service, 'failure', why, until),
  };
}
