import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { MINUTE_MS } from '../../base/time.ts';
import type { RedisClient } from '../../redis/client.ts';
import { beforeSending, withRedisErrors } from '../../redis/errors.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';

/** An outage of a service. Nothing is sent to it for a while. */
export interface Outage {
  /** Epoch ms. */
  readonly until: number;
  /** The service's last failure. */
  readonly why: string;
}

/**
 * Tracks which servers behind targets are down, for all workers, so that not every run waits for the timeout of the
 * same server. It opens after several failures within a window, lets one probe through from time to time, and closes
 * when a probe succeeds. Names of services contain no secrets, e.g. `mail smtp.example.com:587`.
 */
export type CircuitBreaker = ReturnType<typeof redisCircuitBreaker>;

/** Emitted once, by one of the workers. */
export type CircuitEvent =
  | { readonly kind: 'opened'; readonly service: string; readonly until: number; readonly why: string }
  | { readonly kind: 'closed'; readonly service: string; readonly afterMs: number };

/** The circuit opens after this many failures within the window. */
const FAILURE_THRESHOLD = 3;
const FAILURE_WINDOW_MS = 10 * MINUTE_MS;
/** First duration of an outage; doubled after each failed probe, up to the maximum. */
const MIN_OPEN_MS = MINUTE_MS;
const MAX_OPEN_MS = 10 * MINUTE_MS;
/** Other callers wait this long for a probe's result. */
const PROBE_TIMEOUT_MS = MINUTE_MS;

/** Hash: service → epoch ms at which its circuit opened. */
const indexKey = (prefix: string): string => `${prefix}circuits`;
const circuitKey = (prefix: string, service: string): string => `${prefix}circuit:${service}`;

/** A service that is currently not used. */
export interface OpenCircuit {
  readonly service: string;
  /** Epoch ms. */
  readonly since: number;
  /** The service's last failure. */
  readonly why: string;
}

/** Lists the open circuits, including those that wait for a probe's result. Throws `redis.unreachable`. */
export const listOpenCircuits = (redis: RedisClient, { prefix }: { readonly prefix: string }): Promise<OpenCircuit[]> =>
  withRedisErrors(redis, async () => {
    const opened = Object.entries(await redis.hgetall(indexKey(prefix)));
    const found = await Promise.all(
      opened.map(async ([service, since]): Promise<OpenCircuit[]> => {
        const [until, why] = await redis.hmget(circuitKey(prefix, service), 'until', 'why');
        if (until != null) return [{ service, since: Number(since), why: why ?? '' }];
        // No process uses the service any more.
        await redis.hdel(indexKey(prefix), service).catch(() => {});
        return [];
      }),
    );
    return found.flat().sort((a, b) => a.since - b.since);
  });

const outageReplySchema = z.tuple([z.coerce.number(), z.string()]).nullable();
const eventReplySchema = z.tuple([z.enum(['opened', 'closed']), z.coerce.number()]).nullable();

/**
 * Creates a circuit breaker in Redis. Libraries such as opossum and cockatiel keep their state in the process, so that
 * each worker would detect the same outage separately.
 *
 * @param options.prefix of every key, with its separator
 */
export function redisCircuitBreaker(
  redis: RedisClient,
  options: { readonly prefix: string; readonly clock: Clock; readonly onEvent?: (event: CircuitEvent) => void },
) {
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
    /**
     * Returns undefined if sending is allowed. The first caller after an outage is the probe; until it has a result, the
     * others still get the outage.
     * @param requestedAt epoch ms at which a person requested the attempt: it is a probe unless the service has failed since
     */
    check: async (service: string, requestedAt?: number): Promise<Outage | undefined> => {
      const args = [clock.now(), PROBE_TIMEOUT_MS, requestedAt ?? ''];
      const reply = await withContext(() => runLuaScript(redis, checkScript, [keyOf(service)], args));
      const outage = outageReplySchema.parse(reply);
      return outage === null ? undefined : { until: outage[0], why: outage[1] };
    },
    /** The service did what was requested, or refused it for good. */
    recordSuccess: (service: string): Promise<void> => record(service, 'success', ''),
    /** @param until epoch ms at which the service's `Retry-After` ends; it applies to all workers at once */
    recordFailure: (service: string, why: string, until?: number): Promise<void> =>
      record(service, 'failure', why, until),
  };
}
