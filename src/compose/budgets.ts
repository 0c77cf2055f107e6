import type { SteadyClock } from '../base/clock.ts';
import { clockSteps, type WallReading } from '../base/clock-step.ts';
import { type ErrorJson, toDocketError } from '../base/error.ts';
import { type Log, silentLog } from '../base/log.ts';
import type { RedisClient } from '../base/redis-client.ts';
import type { SecretSource } from '../base/secret.ts';
import { RATES } from '../contract/limits.ts';
import type { OrgSettings } from '../define/org.ts';
import type { Budget, BudgetLimits, BudgetState, TellBudget } from '../fetch/budget.ts';
import { lineMemory } from '../fetch/line-memory.ts';
import { lostData } from '../fetch/lost-data.ts';
import { memoryBudget } from '../fetch/memory-budget.ts';
import { redisBudget } from '../fetch/redis-budget.ts';
import { redisName } from '../queue/connection.ts';
import { redisClock } from '../queue/redis-clock.ts';
import { type BudgetConflict, conflictAmong, lowestLimits, sharingKey } from './key-limits.ts';

/** Metrics calls and list reads never draw on the same tokens. */
export type BudgetOf = 'metrics' | 'reads';

/** A budget of its own for each name: metrics calls and list reads never draw on the same tokens. */
export type Budgets = (of: BudgetOf, limits: BudgetLimits) => Budget;

/**
 * The budgets that all workers of one Redis share. The limits are no part of where the tokens are kept: a deploy that
 * changes them must find what is in flight, or the service sees both budgets in one window.
 *
 * @param log told once, by one of all processes, that a key goes slower after a 429, and once that it has recovered; that
 * the clock of Redis was stepped; that Redis has lost the calls of a key
 * @param belongsTo the identity that the process compared at its start; see `lostData`
 */
export function sharedBudgets(
  redis: RedisClient,
  prefix: string,
  clock: SteadyClock,
  log: Log = silentLog,
  belongsTo?: () => string | undefined,
): Budgets {
  const memories = { metrics: lineMemory(), reads: lineMemory() };
  const lost = lostData(redis, prefix, belongsTo);
  // Whoever only looks has nobody to tell.
  const watch = log === silentLog ? undefined : watchingClock(redis, prefix, log);
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
      memory: memories[of],
      lostData: lost,
      ...(watch && { watch }),
      tell: saying(log, of, limits),
    });
}

/** Says, in one of all processes, that the wall clock of Redis was stepped. The budgets do not go by it. */
function watchingClock(redis: RedisClient, prefix: string, log: Log): (reading: WallReading) => void {
  const stepOf = clockSteps();
  const steps = redisClock(redis, { prefix });
  return (reading) => {
    steps.begin();
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
export const ownBudgets =
  (clock: SteadyClock, log: Log): Budgets =>
  (of, limits) =>
    memoryBudget({
      get calls() {
        return limits.calls;
      },
      get windowMs() {
        return limits.windowMs;
      },
      clock,
      tell: saying(log, of, limits),
    });

const CALLS: Record<BudgetOf, string> = { metrics: 'metrics calls', reads: 'list reads' };

const saying =
  (log: Log, of: BudgetOf, limits: BudgetLimits): TellBudget =>
  (news) => {
    const { key, org } = news;
    if (news.kind === 'lost') {
      log.warn('Redis has lost the calls of the API key: none is made until they no longer count', {
        event: 'budget.lost',
        key,
        org,
        ms: news.forMs,
        why: CALLS[of],
      });
      return;
    }
    if (news.kind === 'recovered') {
      log.info('The API key goes at its full rate again', {
        key,
        org,
        count: limits.calls,
        ms: news.afterMs,
        why: CALLS[of],
      });
      return;
    }
    const blocked = new Date(news.blockedUntil).toISOString();
    log.warn('A 429 although the budget was kept: the API key goes slower for a while', {
      key,
      org,
      count: news.limit,
      until: new Date(news.slowedUntil).toISOString(),
      why: `${CALLS[of]}: ${news.limit} of ${limits.calls} tokens, and none before ${blocked}; somebody else uses the key, or the service is stricter than it says`,
    });
  };

/** One API key's lines, as they are now. */
export interface KeyBudgets {
  /** Fingerprint of the key. */
  readonly key: string;
  readonly organizations: readonly string[];
  /** Of metrics calls, as they are configured. */
  readonly limits: BudgetLimits;
  /** Where organizations that share the key set different limits. */
  readonly conflict: BudgetConflict | undefined;
  readonly metrics: BudgetState;
  /** Null while nothing is or lately was in the line of list reads. */
  readonly reads: BudgetState | null;
}

/** The budgets of some organizations' keys, and the organizations whose key is not known here, with the reason. */
export interface BudgetsNow {
  readonly keys: readonly KeyBudgets[];
  readonly unknown: readonly { readonly org: string; readonly error: ErrorJson }[];
}

/**
 * Looks at the budgets of these organizations' keys. Asks Redis alone: no call is made and no token spent. One key that
 * cannot be resolved does not hide the others. Throws `redis.unreachable`.
 */
export async function lookAtBudgets(
  orgs: Iterable<OrgSettings>,
  { secrets, budgetOf, inForce }: BudgetLook,
): Promise<BudgetsNow> {
  const asked = [...orgs];
  const all = inForce === undefined ? asked : [...inForce];
  const byKey = new Map<string, [OrgSettings, ...OrgSettings[]]>();
  const unknown: { org: string; error: ErrorJson }[] = [];
  for (const settings of asked) {
    try {
      const key = (await secrets(settings.api_key)).fingerprint();
      const known = byKey.get(key);
      if (known === undefined) byKey.set(key, [settings]);
      else known.push(settings);
    } catch (thrown) {
      unknown.push({ org: settings.id, error: toDocketError(thrown).toJSON() });
    }
  }
  const look = (of: BudgetOf, key: string, limits: BudgetLimits) => budgetOf(of, limits).look(key);
  const keys = await Promise.all(
    [...byKey].map(async ([key, shown]): Promise<KeyBudgets> => {
      const [first = shown[0], ...others] = all === asked ? shown : await sharingKey(key, all, secrets);
      const limits = lowestLimits([first, ...others]);
      const [metrics, reads] = await Promise.all([look('metrics', key, limits), look('reads', key, RATES.reads)]);
      return {
        key,
        organizations: shown.map(({ id }) => id),
        limits,
        conflict: conflictAmong([first, ...others]),
        metrics,
        reads: untouched(reads) ? null : reads,
      };
    }),
  );
  return { keys, unknown };
}

/** What looking at budgets goes by. */
export interface BudgetLook {
  readonly secrets: SecretSource;
  readonly budgetOf: Budgets;
  /** All organizations in force, which decide of the limits of a key; those that are looked at when absent. */
  readonly inForce?: Iterable<OrgSettings> | undefined;
}

const untouched = ({ tokens, limit, inFlight, waiting, blockedUntil, throttled }: BudgetState): boolean =>
  tokens === RATES.reads.calls &&
  limit === RATES.reads.calls &&
  inFlight + waiting + throttled === 0 &&
  blockedUntil === null;

/**
 * When a run that starts now can have dispatched its last call (epoch ms), if nobody goes before it: those who wait now
 * come first, and each window brings at most `limit` tokens.
 *
 * @param calls tokens the run needs
 */
export function expectedFinish(state: BudgetState, windowMs: number, calls: number, now: number): number {
  const start = Math.max(now, state.blockedUntil ?? now);
  const without = state.waiting + calls - state.tokens;
  return calls === 0 ? now : start + Math.max(0, Math.ceil(without / state.limit)) * windowMs;
}
