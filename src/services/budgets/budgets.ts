import type { SteadyClock } from '../../base/clock.ts';
import { clockStepDetector, type WallClockReading } from '../../base/clock.ts';
import { type Log, silentLog } from '../../base/log.ts';
import { bucketClock } from '../../fetch/rate-limit/bucket-clock.ts';
import type { Budget, BudgetLimits, OnBudgetEvent } from '../../fetch/rate-limit/budget.ts';
import { memoryBudget } from '../../fetch/rate-limit/memory-budget.ts';
import { redisBudget } from '../../fetch/rate-limit/redis-budget.ts';
import { type RedisClient, redisName } from '../../redis/client.ts';
import { redisClock } from '../../redis/clock.ts';
import { dataLossDetector } from '../../redis/data-loss.ts';

/** Metrics calls and list reads have separate budgets. */
export type BudgetKind = 'metrics' | 'reads';

/** Creates the budget of a kind of calls. */
export type BudgetFactory = (of: BudgetKind, limits: BudgetLimits) => Budget;

/**
 * The budgets that all workers of one Redis share. Their keys do not contain the limits: a deployment that changes the
 * limits must see the calls in flight, otherwise the service would receive both budgets in one window.
 *
 * @param log receives throttling after a 429, recovery, steps of Redis's clock, and lost data, from only one of all
 * processes
 * @param belongsTo the id of the deployment, as compared at the start of the process; see `dataLossDetector`
 */
export function sharedBudgets(
  redis: RedisClient,
  prefix: string,
  clock: SteadyClock,
  log: Log = silentLog,
  belongsTo?: () => string | undefined,
): BudgetFactory {
  const clocks = { metrics: bucketClock(), reads: bucketClock() };
  const dataLoss = dataLossDetector(redis, prefix, belongsTo);
  // Without a log there is nowhere to report to.
  const onClockReading = log === silentLog ? undefined : watchRedisClock(redis, prefix, log);
  return (of, limits) =>
    redisBudget(redis, {
      prefix: `${prefix}:${of}:`,
      get calls() {
        return limits.calls;
      },
      get windowMs() {
        return limits.windowMs;
      },
      clock,
      bucketClock: clocks[of],
      dataLoss,
      ...(onClockReading && { onClockReading }),
      onEvent: logBudgetEvents(log, of, limits),
    });
}

/** Logs that Redis's wall clock was stepped, in only one of all processes. The budgets do not depend on that clock. */
function watchRedisClock(redis: RedisClient, prefix: string, log: Log): (reading: WallClockReading) => void {
  const stepOf = clockStepDetector();
  const steps = redisClock(redis, { prefix });
  return (reading) => {
    steps.loadBaseline();
    const ms = stepOf(reading);
    if (ms === undefined) return;
    // Log it even if it cannot be recorded: a duplicate is better than none.
    const first = steps.record(ms, reading.wall).catch(() => true);
    void first.then((isFirst) => {
      if (!isFirst) return;
      log.warn('The clock of Redis was stepped; budgets do not depend on it', {
        event: 'redis.clock_stepped',
        ms,
        why: `${redisName(redis)}, ${ms > 0 ? 'ahead' : 'back'}; or this machine was suspended`,
      });
    });
  };
}

/** The budgets of a process without Redis, which shares them with no other process. */
export const localBudgets =
  (clock: SteadyClock, log: Log): BudgetFactory =>
  (of, limits) =>
    memoryBudget({
      get calls() {
        return limits.calls;
      },
      get windowMs() {
        return limits.windowMs;
      },
      clock,
      onEvent: logBudgetEvents(log, of, limits),
    });

const CALL_NAMES: Record<BudgetKind, string> = { metrics: 'metrics calls', reads: 'list reads' };

const logBudgetEvents =
  (log: Log, of: BudgetKind, limits: BudgetLimits): OnBudgetEvent =>
  (event) => {
    const common = { key: event.key, org: event.org };
    const why = CALL_NAMES[of];
    if (event.kind === 'lost') {
      return log.warn('Budget state lost in Redis; calls are held for one window', {
        event: 'budget.lost',
        ...common,
        ms: event.forMs,
        why,
      });
    }
    if (event.kind === 'recovered') {
      return log.info('API key is no longer throttled', { ...common, count: limits.calls, ms: event.afterMs, why });
    }
    const blocked = new Date(event.blockedUntil).toISOString();
    log.warn('429 within the budget: the API key is throttled', {
      ...common,
      count: event.limit,
      until: new Date(event.slowedUntil).toISOString(),
      why: `${why}: ${event.limit} of ${limits.calls} tokens, and none before ${blocked}; another client uses the key, or the service applies a lower limit`,
    });
  };
