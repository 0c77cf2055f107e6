import type { Clock } from '../../base/clock.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../base/time.ts';
import { redisProcessRegistry } from '../../queue/process-registry.ts';
import { redisSchedulerHeartbeats, type SchedulerHeartbeat } from '../../queue/schedules/scheduler-heartbeat.ts';
import { mastersOf, type RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { type RedisMemory, readRedisMemory } from '../../redis/server-info.ts';
import type { HealthCheck } from './storage-health.ts';

/** Why reports do not go out, or soon will not, whatever their definitions say. Public to every reader of the page. */
export interface DeploymentProblem {
  readonly code: 'worker.none' | 'scheduler.none' | 'slot.stuck' | 'redis.memory' | 'redis.writes' | 'clock.skew';
  readonly message: string;
  /** What to do. */
  readonly next: string;
}

/** What is known of the deployment at an instant. */
export interface DeploymentFacts {
  /** Epoch ms by the clock of this process. */
  readonly now: number;
  /** Running workers. */
  readonly workers: number;
  /** The last scan for due slots; null before the first. */
  readonly heartbeat: SchedulerHeartbeat | null;
  /** Null where Redis does not report it. */
  readonly memory: RedisMemory | null;
  /** The clock of Redis less that of this process, ms. */
  readonly skewMs: number;
  /** Why Redis accepts no writes; undefined if it does. */
  readonly writeFailure?: string | undefined;
}

/** Schedulers scan every minute. */
const MAX_SCAN_AGE_MS = 3 * MINUTE_MS;
/** A slot that cannot be opened is tried again each minute. */
const MAX_STUCK_MS = 5 * MINUTE_MS;
const MAX_MEMORY_RATIO = 0.9;
/** As `docket doctor`: slots, tokens and expiry depend on clocks. */
const MAX_SKEW_MS = 30 * SECOND_MS;

/** The problems, the most urgent first. */
export function evaluateDeployment(facts: DeploymentFacts): readonly DeploymentProblem[] {
  const { now, workers, heartbeat, memory, skewMs, writeFailure } = facts;
  const problems: DeploymentProblem[] = [];
  if (writeFailure !== undefined) {
    problems.push({
      code: 'redis.writes',
      message: `${writeFailure} Runs wait, and no decision can be recorded.`,
      next: MEMORY_REMEDY,
    });
  } else if (memory !== null && memory.limitBytes > 0 && memory.usedBytes >= memory.limitBytes * MAX_MEMORY_RATIO) {
    problems.push({
      code: 'redis.memory',
      message:
        memory.usedBytes >= memory.limitBytes
          ? 'Redis is full: runs wait, and no decision can be recorded.'
          : `Redis uses ${Math.round((100 * memory.usedBytes) / memory.limitBytes)} % of its memory. When it is full, runs wait.`,
      next: MEMORY_REMEDY,
    });
  }
  if (Math.abs(skewMs) > MAX_SKEW_MS) {
    problems.push({
      code: 'clock.skew',
      message: `The clock of Redis is ${formatMs(Math.abs(skewMs))} ${skewMs > 0 ? 'ahead of' : 'behind'} that of this machine: slots come due at the wrong time.`,
      next: 'Synchronize both machines with a time server (chrony, systemd-timesyncd), then compare them with `docket doctor`.',
    });
  }
  if (workers === 0) {
    problems.push({
      code: 'worker.none',
      message: 'No worker is running: runs are queued, and none starts.',
      next: 'Start one: `docket start --role worker`. `docket doctor` checks what it needs.',
    });
  }
  if (heartbeat === null || now - heartbeat.at > MAX_SCAN_AGE_MS) {
    problems.push({
      code: 'scheduler.none',
      message:
        heartbeat === null
          ? 'No scheduler has run yet: no report starts by its schedule.'
          : `No scheduler has run for ${formatMs(now - heartbeat.at)}: no report starts by its schedule.`,
      next: 'Start one: `docket start --role scheduler`. It catches up missed slots as `catch_up` of each report says.',
    });
  } else if (heartbeat.stuck !== null && now - heartbeat.stuck > MAX_STUCK_MS) {
    problems.push({
      code: 'slot.stuck',
      message: `A slot has been due for ${formatMs(now - heartbeat.stuck)} and cannot be opened.`,
      next: 'Read the log of the scheduler ("Due slots could not be opened"), and check the definitions with `docket check`.',
    });
  }
  return problems;
}

const MEMORY_REMEDY =
  'Raise maxmemory: `redis-cli config set maxmemory 2gb`, and in redis.conf. Keep the policy noeviction. `docket doctor` checks it.';

/** E.g. `45 s`, `12 min`, `3 h`, `2 d`. */
function formatMs(ms: number): string {
  if (ms < 2 * MINUTE_MS) return `${Math.round(ms / SECOND_MS)} s`;
  if (ms < 120 * MINUTE_MS) return `${Math.round(ms / MINUTE_MS)} min`;
  return ms < 2 * DAY_MS ? `${Math.round(ms / (60 * MINUTE_MS))} h` : `${Math.round(ms / DAY_MS)} d`;
}

export interface DeploymentProblemPorts {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly clock: Clock;
  /** The checks of this process. */
  readonly health: () => Promise<readonly HealthCheck[]>;
}

/** Reads the facts from Redis: four commands. Throws `redis.unreachable`. */
export async function findDeploymentProblems({
  redis,
  prefix,
  clock,
  health,
}: DeploymentProblemPorts): Promise<readonly DeploymentProblem[]> {
  const [processes, heartbeat, memory, skewMs, checks] = await Promise.all([
    redisProcessRegistry(redis, { prefix, self: 'reader' }).countByRole(),
    redisSchedulerHeartbeats(redis, { prefix }).last(),
    readRedisMemory(redis),
    measureSkew(redis, clock),
    health(),
  ]);
  return evaluateDeployment({
    now: clock.now(),
    workers: processes.get('worker') ?? 0,
    heartbeat,
    memory,
    skewMs,
    writeFailure: checks.find(({ name, ok }) => name === 'redis_writes' && !ok)?.detail,
  });
}

async function measureSkew(redis: RedisClient, clock: Clock): Promise<number> {
  const [server] = mastersOf(redis);
  if (server === undefined) return 0;
  const before = clock.now();
  const [seconds, micros] = await withRedisErrors(redis, () => server.time());
  return Number(seconds) * SECOND_MS + Number(micros) / 1000 - (before + clock.now()) / 2;
}
