import type { BudgetReading, Readings } from '../../admin/metrics/process-metrics.ts';
import type { SteadyClock } from '../../base/clock.ts';
import type { SecretSource } from '../../base/secrets/secret.ts';
import { RATE_LIMITS } from '../../contract/limits.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import { countUnknown } from '../../deliver/ledger/unknown-set.ts';
import type { RunQueue } from '../../queue/jobs/run-queue.ts';
import { redisProcessRegistry } from '../../queue/process-registry.ts';
import { redisNoticeOutbox } from '../../queue/runs/notice-outbox.ts';
import { countOpenRuns } from '../../queue/runs/run-counts.ts';
import { redisPauses } from '../../queue/schedules/pauses.ts';
import { redisSchedulerHeartbeats } from '../../queue/schedules/scheduler-heartbeat.ts';
import type { RedisClient } from '../../redis/client.ts';
import { redisClock } from '../../redis/clock.ts';
import { RETENTION_DAYS } from '../../redis/keys.ts';
import { readRedisMemory } from '../../redis/server-info.ts';
import { type BudgetFactory, inspectBudgets } from '../budgets/budgets.ts';

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
