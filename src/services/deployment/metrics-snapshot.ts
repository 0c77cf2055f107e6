import { RATE_LIMITS } from '../../contract/limits.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import { countUnknown } from '../../deliver/ledger/unknown-set.ts';
import type { QueueCounts } from '../../queue/jobs/run-queue.ts';
import { redisProcessRegistry } from '../../queue/process-registry.ts';
import { countOpenRuns, type OpenRunCount } from '../../queue/runs/run-counts.ts';
import type { Pause } from '../../queue/schedules/pauses.ts';
import { type ReadingSummary, redisReadingIndex } from '../../queue/schedules/reading-index.ts';
import { redisSchedulerHeartbeats, type SchedulerHeartbeat } from '../../queue/schedules/scheduler-heartbeat.ts';
import { type ClockSteps, redisClock } from '../../redis/clock.ts';
import { RETENTION_DAYS } from '../../redis/keys.ts';
import { type RedisMemory, readRedisMemory } from '../../redis/server-info.ts';
import { sharedBudgets } from '../budgets/budgets.ts';
import { type BudgetEntry, inspectBudgets } from '../budgets/inspect-budgets.ts';
import { type CorrectionSummary, redisWatchIndex } from '../corrections/watch-index.ts';
import { redisForecasts } from '../forecast/stored-forecasts.ts';
import { type PreparationStatus, redisPreparationIndex } from '../preparations/preparation-index.ts';
import { findLateRuns } from '../runs/late-runs.ts';
import type { Deployment } from './deployment.ts';

/** The budget of one API key for one kind of calls. */
export type BudgetSample = Pick<BudgetEntry, 'of' | 'calls' | 'state'>;

/** The current state that a deployment's processes share. */
export interface MetricsSnapshot {
  readonly budgets: readonly BudgetSample[];
  /** Fingerprint of the API key by organization; null if this process cannot resolve the key. */
  readonly keys: ReadonlyMap<string, string | null>;
  readonly queue: QueueCounts;
  /** Runs that have not ended or need a decision. */
  readonly runs: readonly OpenRunCount[];
  /** Number of healthy processes by role. */
  readonly processes: ReadonlyMap<string, number>;
  /** The last scan for due slots; null before the first one. */
  readonly heartbeat: SchedulerHeartbeat | null;
  /** Null if Redis does not report it. */
  readonly memory: RedisMemory | null;
  /** Steps of Redis's wall clock. */
  readonly clockSteps: ClockSteps;
  readonly paused: readonly Pick<Pause, 'org' | 'report' | 'since'>[];
  /** Recent readings of current counts, by organization. */
  readonly readings: readonly Pick<ReadingSummary, 'org' | 'newest' | 'missed'>[];
  /** Watched editions and open corrections, by organization. */
  readonly corrections: readonly Pick<CorrectionSummary, 'org' | 'watched' | 'open' | 'oldest'>[];
  /** Organizations of late runs, one entry per run. */
  readonly late: readonly string[];
  /** Upcoming slots whose calls are made early. */
  readonly preparations: readonly Pick<PreparationStatus, 'org' | 'prepared' | 'complete'>[];
  /** Mean difference between forecast and delivery over 30 days, ms; null without any. */
  readonly forecastErrorMs: number | null;
  readonly pendingNotices: number;
  /** Deliveries that may have arrived and need a decision. */
  readonly unknownDeliveries: number;
  readonly reports: number;
  /** Number of diagnostics of skipped definition files. */
  readonly faults: number;
  /** Number of reports and organizations that use their last good version. */
  readonly kept: number;
  /** Codes of the deployment's current problems. */
  readonly problems?: readonly string[];
}

/**
 * Reads the snapshot with a few Redis commands, and two per API key. Throws `redis.unreachable`.
 *
 * @param deployment uses a producer's client: a scrape must not wait for an unreachable Redis
 */
export async function readMetricsSnapshot(deployment: Deployment, jobs: Definitions): Promise<MetricsSnapshot> {
  const { redis, prefix, secrets, clock } = deployment;
  const budgetOf = sharedBudgets(redis, prefix, clock);
  const since = clock.now() - RETENTION_DAYS * 86_400_000;
  const [
    now,
    counts,
    open,
    processes,
    heartbeat,
    memory,
    clockSteps,
    pauses,
    readings,
    corrections,
    prepared,
    late,
    forecastErrorMs,
    pending,
    unknown,
  ] = await Promise.all([
    inspectBudgets(jobs.orgs.values(), { secrets, budgetOf }),
    deployment.queue.counts(),
    countOpenRuns(redis, { prefix, since }),
    redisProcessRegistry(redis, { prefix, self: 'reader' }).countByRole(),
    redisSchedulerHeartbeats(redis, { prefix }).last(),
    readRedisMemory(redis),
    redisClock(redis, { prefix }).read(),
    deployment.pauses.list(),
    redisReadingIndex(redis, { prefix }).list(),
    redisWatchIndex(redis, { prefix }).summaries(),
    redisPreparationIndex(redis, { prefix }).statuses(),
    findLateRuns(deployment, jobs.reports.values()),
    redisForecasts(redis, { prefix }).meanErrorMs(clock.now()),
    deployment.noticeOutbox.list(),
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
    runs: open,
    processes,
    heartbeat,
    memory,
    clockSteps,
    paused: pauses,
    readings,
    corrections,
    late: late.map(({ org }) => org),
    preparations: [...prepared.values()].filter(({ begins }) => begins > clock.now()),
    forecastErrorMs,
    pendingNotices: pending.length,
    unknownDeliveries: unknown,
    reports: jobs.reports.size,
    faults: jobs.diagnostics.length,
    kept: jobs.usingLastKnownGood.size,
  };
}
