import type { BudgetReading, Readings } from '../admin/metrics.ts';
import type { SteadyClock } from '../base/clock.ts';
import type { RedisClient } from '../base/redis-client.ts';
import type { SecretSource } from '../base/secret.ts';
import { RATE_LIMITS } from '../contract/limits.ts';
import type { Definitions } from '../define/load.ts';
import { countUnknown } from '../deliver/redis-ledger.ts';
import type { RunQueue } from '../queue/jobs.ts';
import { redisSchedulerHeartbeats } from '../queue/looks.ts';
import { redisNoticeOutbox } from '../queue/owed-notices.ts';
import { redisPauses } from '../queue/pauses.ts';
import { redisProcessRegistry } from '../queue/presence.ts';
import { redisClock } from '../queue/redis-clock.ts';
import { readRedisMemory } from '../queue/redis-memory.ts';
import { countOpenRuns } from '../queue/standing.ts';
import { type BudgetFactory, inspectBudgets } from './budgets.ts';
import { RETENTION_DAYS } from './keep-days.ts';

/** What is read, and where. */
export interface MetricsSnapshotPorts {
  /** A producer's client: whoever scrapes does not wait for a Redis that is away. */
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly queue: Pick<RunQueue, 'counts'>;
  readonly jobs: Definitions;
  /** Of all workers. */
  readonly budgets: BudgetFactory;
  readonly secrets: SecretSource;
  readonly clock: SteadyClock;
}

/** What all processes share, as it is now. A few commands, and two for each API key. Throws `redis.unreachable`. */
export async function readMetricsSnapshot({
  redis,
  prefix,
  queue,
  jobs,
  budgets,
  secrets,
  clock,
}: MetricsSnapshotPorts): Promise<Readings> {
  const since = clock.now() - RETENTION_DAYS * 86_400_000;
  const [now, counts, runs, processes, look, memory, clockSteps, pauses, owed, unknown] = await Promise.all([
    inspectBudgets(jobs.orgs.values(), { secrets, budgetOf: budgets }),
    queue.counts(),
    countOpenRuns(redis, { prefix, since }),
    redisProcessRegistry(redis, { prefix, self: 'reader' }).countByRole(),
    redisSchedulerHeartbeats(redis, { prefix }).last(),
    readRedisMemory(redis),
    redisClock(redis, { prefix }).read(),
    redisPauses(redis, { prefix }).list(),
    redisNoticeOutbox(redis, { prefix }).list(),
    countUnknown(redis, `${prefix}:`, 0),
  ]);
  const keys = new Map<string, string | null>(now.unknown.map(({ org }) => [org, null]));
  for (const { key, organizations } of now.keys) for (const org of organizations) keys.set(org, key);
  return {
    budgets: now.keys.flatMap(({ limits, metrics, reads }): BudgetReading[] => [
      { of: 'metrics', calls: limits.calls, state: metrics },
      ...(reads === null ? [] : [{ of: 'reads' as const, calls: RATE_LIMITS.reads.calls, state: reads }]),
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
    faults: jobs.diagnostics.length,
    kept: jobs.usingLastKnownGood.size,
  };
}
