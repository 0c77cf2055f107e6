import type { SteadyClock } from '../../base/clock.ts';
import type { SecretSource } from '../../base/secrets/secret.ts';
import { RATE_LIMITS } from '../../contract/limits.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import { countUnknown } from '../../deliver/ledger/unknown-set.ts';
import type { BudgetState } from '../../fetch/rate-limit/budget.ts';
import type { QueueCounts, RunQueue } from '../../queue/jobs/run-queue.ts';
import { redisProcessRegistry } from '../../queue/process-registry.ts';
import { redisNoticeOutbox } from '../../queue/runs/notice-outbox.ts';
import { countOpenRuns, type OpenRunCount } from '../../queue/runs/run-counts.ts';
import { type Pause, redisPauses } from '../../queue/schedules/pauses.ts';
import { redisSchedulerHeartbeats, type SchedulerHeartbeat } from '../../queue/schedules/scheduler-heartbeat.ts';
import type { RedisClient } from '../../redis/client.ts';
import { type ClockSteps, redisClock } from '../../redis/clock.ts';
import { RETENTION_DAYS } from '../../redis/keys.ts';
import { type RedisMemory, readRedisMemory } from '../../redis/server-info.ts';
import type { BudgetFactory } from '../budgets/budgets.ts';
import { inspectBudgets } from '../budgets/inspect-budgets.ts';

/** The line of one API key for one kind of calls, and how many tokens it has when it is not slowed. */
export interface BudgetSample {
  readonly of: 'metrics' | 'reads';
  readonly calls: number;
  readonly state: BudgetState;
}

/** What all processes of a deployment share, as it is now. */
export interface MetricsSnapshot {
  readonly budgets: readonly BudgetSample[];
  /** Fingerprint of the key by organization; null where the key cannot be resolved here. */
  readonly keys: ReadonlyMap<string, string | null>;
  readonly queue: QueueCounts;
  /** Runs on record that have not ended, or wait for somebody. */
  readonly runs: readonly OpenRunCount[];
  /** How many processes are at work, by role. */
  readonly processes: ReadonlyMap<string, number>;
  /** The last look at the due slots; null before the first. */
  readonly look: SchedulerHeartbeat | null;
  /** Null where Redis does not say. */
  readonly memory: RedisMemory | null;
  /** Of the wall clock of Redis. */
  readonly clockSteps: ClockSteps;
  readonly paused: readonly Pick<Pause, 'org' | 'report' | 'since'>[];
  readonly owedNotices: number;
  /** Deliveries that may have arrived and may not have: they wait for somebody's decision. */
  readonly unknownDeliveries: number;
  readonly reports: number;
  /** Of files of definitions, which are left out. */
  readonly faults: number;
  /** Reports and organizations that go on as their last good file says. */
  readonly kept: number;
}

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
}: MetricsSnapshotPorts): Promise<MetricsSnapshot> {
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
    budgets: now.keys.flatMap(({ limits, metrics, reads }): BudgetSample[] => [
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
