import type { Clock } from '../../base/clock.ts';
import { MINUTE_MS, SECOND_MS } from '../../base/time.ts';
import type { AttemptResult } from '../attempt.ts';
import type { CircuitBreaker, Outage } from './circuit-breaker.ts';

/** Each message without a reply leaves a decision to a person: after two in a row, a server is treated as down. */
const MAX_CONSECUTIVE_UNKNOWN = 2;

/** Why a service is skipped in this call; `until` if the time of the next attempt is known. */
type ServiceOutage = Pick<Outage, 'why'> & Partial<Outage>;

/**
 * Tracks the services that one call of `deliver` finds to be down.
 * @param circuit shared with other workers; absent without Redis
 * @param requestedAt epoch ms at which a person last requested this attempt
 */
export function outageTracker(clock: Clock, circuit: CircuitBreaker | undefined, requestedAt?: number) {
  const outages = new Map<string, ServiceOutage>();
  const known = new Set<string>();
  const checks = new Map<string, Promise<Outage | undefined>>();
  const checkService = (service: string): Promise<Outage | undefined> => {
    const pending = checks.get(service) ?? Promise.resolve(circuit?.check(service, requestedAt));
    checks.set(service, pending);
    return pending;
  };
  const succeeded = new Set<string>();
  const consecutiveUnknown = new Map<string, number>();
  return {
    /** The outage of a service; undefined if there is none. Queries the circuit breaker once per service. */
    check: async (service: string): Promise<ServiceOutage | undefined> => {
      const isFirst = !known.has(service);
      known.add(service);
      const open = isFirst ? await checkService(service) : undefined;
      if (open !== undefined) outages.set(service, { ...open, why: outageDetail(service, open) });
      return outages.get(service);
    },
    /**
     * Queries now what `check` will need, for a delivery that is about to be attempted and may be the service's probe.
     */
    prefetch: (service: string): void => {
      checkService(service).catch(() => {});
    },
    /** Records the result of an attempt. @param attempts number of earlier attempts at this delivery */
    record: async (service: string, result: AttemptResult, attempts: number): Promise<void> => {
      const { state, detail, targetDown, notBefore, diskFault } = result;
      const unknown = state === 'unknown' ? (consecutiveUnknown.get(service) ?? 0) + 1 : 0;
      consecutiveUnknown.set(service, unknown);
      if (diskFault) outages.set(service, { why: detail, until: clock.now() + diskRetryDelayMs(attempts) });
      else if (targetDown || notBefore !== undefined || unknown === MAX_CONSECUTIVE_UNKNOWN) {
        outages.set(service, { why: detail });
        succeeded.delete(service);
        await circuit?.recordFailure(service, detail, notBefore);
      } else if (state === 'sent' && !succeeded.has(service)) {
        succeeded.add(service);
        // Not awaited: losing a success delays other runs, but loses no message.
        circuit?.recordSuccess(service).catch(() => {});
      }
    },
    /** The outage that ends first, if every one of these services has an outage with a known end. */
    findEarliest: (services: readonly string[]): Outage | undefined => {
      const down = services.flatMap((service): Outage[] => {
        const { until, why } = outages.get(service) ?? { why: '' };
        return until === undefined ? [] : [{ until, why }];
      });
      if (down.length < services.length) return undefined;
      return down.sort((one, other) => one.until - other.until)[0];
    },
  };
}

export type OutageTracker = ReturnType<typeof outageTracker>;

/**
 * Delay before a retry after a disk failure. It doubles up to 15 minutes, because each attempt adds a record to the
 * archive.
 */
const diskRetryDelayMs = (attempts: number): number =>
  Math.min(15 * SECOND_MS * 2 ** Math.min(attempts, 10), 15 * MINUTE_MS);

const outageDetail = (service: string, { until, why }: Outage): string =>
  `Not tried before ${new Date(until).toISOString()}: ${service} has been failing (${why}).`;
