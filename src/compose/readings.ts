import type { BudgetReading, Readings } from '../admin/metrics.ts';
import type { SteadyClock } from '../base/clock.ts';
import type { RedisClient } from '../base/redis-client.ts';
import type { SecretSource } from '../base/secret.ts';
import { RATES } from '../contract/limits.ts';
import type { Jobs } from '../define/load.ts';
import { countUnknown } from '../deliver/redis-ledger.ts';
import type { RunQueue } from '../queue/jobs.ts';
import { redisLooks } from '../queue/looks.ts';
import { owedNotices } from '../queue/owed-notices.ts';
import { redisPauses } from '../queue/pauses.ts';
import { redisPresence } from '../queue/presence.ts';
import { redisClock } from '../queue/redis-clock.ts';
import { redisMemory } from '../queue/redis-memory.ts';
import { standingRuns } from '../queue/standing.ts';
import { type Budgets, lookAtBudgets } from './budgets.ts';
import { KEEP_DAYS } from './keep-days.ts';

/** What is read, and where. */
export interface ReadingPorts {
  /** A producer's client: whoever scrapes does not wait for a Redis that is away. */
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly queue: Pick<RunQueue, 'counts'>;
  readonly jobs: Jobs;
  /** Of all workers. */
  readonly budgets: Budgets;
  readonly secrets: SecretSource;
  readonly clock: SteadyClock;
}

/** What all processes share, as it is now. A few commands, and two for each API key. Throws `redis.unreachable`. */
export async function readNow({
  redis,
  prefix,
  queue,
  jobs,
  budgets,
  secrets,
  clock,
}: ReadingPorts): Promise<Readings> {
  const since = clock.now() - KEEP_DAYS * 86_400_000;
  const [now, counts, runs, processes, look, memory, clockSteps, pauses, owed, unknown] = await Promise.all([
    lookAtBudgets(jobs.orgs.values(), { secrets, budgetOf: budgets }),
    queue.counts(),
    standingRuns(redis, { prefix, since }),
    redisPresence(redis, { prefix, self: 'reader' }).count(),
    redisLooks(redis, { prefix }).last(),
    redisMemory(redis),
    redisClock(redis, { prefix }).read(),
    redisPauses(redis, { prefix }).list(),
    owedNotices(redis, { prefix }).list(),
    countUnknown(redis, `${prefix}:`, 0),
  ]);
  const keys = new Map<string, string | null>(now.unknown.map(({ org }) => [org, null]));
  for (const { key, organizations } of now.keys) for (const org of organizations) keys.set(org, key);
  return {
    budgets: now.keys.flatMap(({ limits, metrics, reads }): BudgetReading[] => [
      { of: 'metrics', calls: limits.calls, state: metrics },
      ...(reads === null ? [] : [{ of: 'reads' as const, calls: RATES.reads.calls, state: reads }]),
    ]),
    keys,
    queue: counts,
    runs,
    processes,
    look,
    memory,
    clockSteps,
    paused: pauses,
    owedNotices: owed.length,
    unknownDeliveries: unknown,
    reports: jobs.reports.size,
    faults: jobs.faults.length,
    kept: jobs.kept.size,
  };
}
