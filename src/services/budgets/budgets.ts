import type { SteadyClock } from '../../base/clock.ts';
import { clockStepDetector, type WallClockReading } from '../../base/clock-steps.ts';
import { type Log, silentLog } from '../../base/log.ts';
import type { Budget, BudgetLimits, OnBudgetEvent } from '../../fetch/rate-limit/budget.ts';
import { memoryBudget } from '../../fetch/rate-limit/memory-budget.ts';
import { bucketClock, redisBudget } from '../../fetch/rate-limit/redis-budget.ts';
import { type RedisClient, redisName } from '../../redis/client.ts';
import { redisClock } from '../../redis/clock.ts';
import { dataLossDetector } from '../../redis/data-loss.ts';

/** Metrics calls and list reads never draw on the same tokens. */
export type BudgetKind = 'metrics' | 'reads';

/** A budget of its own for each name: metrics calls and list reads never draw on the same tokens. */
export type BudgetFactory = (of: BudgetKind, limits: BudgetLimits) => Budget;

/**
 * The budgets that all workers of one Redis share. The limits are no part of where the tokens are kept: a deploy that
 * changes them must find what is in flight, or the service sees both budgets in one window.
 *
 * @param log told once, by one of all processes, that a key goes slower after a 429, and once that it has recovered; that
 * the clock of Redis was stepped; that Redis has lost the calls of a key
 * @param belongsTo the identity that the process compared at its start; see `dataLossDetector`
 */
export function sharedBudgets(
  redis: RedisClient,
  prefix: string,
  clock: SteadyClock,
  log: Log = silentLog,
  belongsTo?: () => string | undefined,
): BudgetFactory {
  const memories = { metrics: bucketClock(), reads: bucketClock() };
  const lost = dataLossDetector(redis, prefix, belongsTo);
  // Whoever only looks has nobody to tell.
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
      bucketClock: memories[of],
      dataLoss: lost,
      ...(onClockReading && { onClockReading }),
      onEvent: logBudgetEvents(log, of, limits),
    });
}

/** Says, in one of all processes, that the wall clock of Redis was stepped. The budgets do not go by it. */
function watchRedisClock(redis: RedisClient, prefix: string, log: Log): (reading: WallClockReading) => void {
  const stepOf = clockStepDetector();
  const steps = redisClock(redis, { prefix });
  return (reading) => {
    steps.loadBaseline();
    const ms = stepOf(reading);
    if (ms === undefined) return;
    // What cannot be recorded is said all the same: twice is better than never.
    const first = steps.record(ms, reading.wall).catch(() => true);
    void first.then((say) => {
      if (!say) return;
      log.warn('The clock of Redis was stepped; the budget of the API keys does not go by it', {
        event: 'redis.clock_stepped',
        ms,
        why: `${redisName(redis)}, ${ms > 0 ? 'ahead' : 'back'}; or this machine was suspended`,
      });
    });
  };
}

/** The budgets of one process that asks no Redis: nobody else sees what it spends. */
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
  (news) => {
    const { key, org } = news;
    if (news.kind === 'lost') {
      log.warn('Redis has lost the calls of the API key: none is made until they no longer count', {
        event: 'budget.lost',
        key,
        org,
        ms: news.forMs,
        why: CALL_NAMES[of],
      });
      return;
    }
    if (news.kind === 'recovered') {
      log.info('The API key goes at its full rate again', {
        key,
        org,
        count: limits.calls,
        ms: news.afterMs,
        why: CALL_NAMES[of],
      });
      return;
    }
    const blocked = new Date(news.blockedUntil).toISOString();
    log.warn('A 429 although the budget was kept: the API key goes slower for a while', {
      key,
      org,
      count: news.limit,
      until: new Date(news.slowedUntil).toISOString(),
      why: `${CALL_NAMES[of]}: ${news.limit} of ${limits.calls} tokens, and none before ${blocked}; somebody else uses the key, or the service is stricter than it says`,
    });
  };
