import type { Redis } from 'ioredis';
import type { AppContext } from '../../base/context.ts';
import { silentLog } from '../../base/log.ts';
import { type RedisClient, redisName } from '../../redis/client.ts';
import { NO_STEPS, redisClock } from '../../redis/clock.ts';
import { openRedis } from '../../redis/connection.ts';
import { DEFAULT_KEY_PREFIX } from '../../redis/keys.ts';
import { assertSuitable } from '../../redis/server-check.ts';
import { evaluateClockSkew, evaluateClockSteps, REDIS_SKEW_LIMITS } from './clock.ts';
import { type CheckResult, type Finding, fail, formatByteSize, ok, resultOfError, runCheck, warn } from './finding.ts';

/** Persistence according to INFO. */
export interface Persistence {
  /** appendonly yes. */
  readonly logged: boolean;
  /** Whether data survives a restart; undefined if the server does not tell. */
  readonly persistent: boolean | undefined;
  /** The error of the last write to disk. */
  readonly writeError: string | undefined;
}

export function evaluatePersistence({ logged, persistent, writeError }: Persistence): CheckResult {
  if (writeError !== undefined) {
    return fail(
      `Redis could not write to its disk (${writeError})`,
      'Free disk space and fix permissions of its folder: it loses data, or refuses writes.',
    );
  }
  const remedy =
    'Turn on `appendonly yes`, best with `appendfsync always`; `docket start --require-durable` requires it.';
  if (logged) return ok('each write is logged (appendonly yes)');
  if (persistent === undefined) return ok('unknown: ask the operator of Redis whether data survives a restart');
  if (persistent) return warn('snapshots only: changes after the last one are lost in a crash', remedy);
  return warn('no persistence: runs and deliveries are lost when Redis restarts', remedy);
}

/** Bytes; `limit` 0: none. */
export interface MemoryUsage {
  readonly used: number;
  readonly limit: number;
  /** Memory of the machine; 0 if unknown. */
  readonly machine: number;
}

export function evaluateMemory({ used, limit, machine }: MemoryUsage): CheckResult {
  const maximum = limit > 0 ? limit : machine;
  const detail = `${formatByteSize(used)} used, ${limit > 0 ? `limit ${formatByteSize(limit)}` : 'no limit of its own'}`;
  const remedy = 'Raise maxmemory (the policy has to stay noeviction): a full Redis refuses to write, and runs wait.';
  if (maximum === 0 || used < maximum * 0.75) return ok(detail);
  return used < maximum * 0.9 ? warn(detail, remedy) : fail(detail, remedy);
}

/** @param ms the median of some pings */
export function evaluateLatency(ms: number): CheckResult {
  const detail = `${ms < 10 ? Number(ms.toFixed(1)) : Math.round(ms)} ms a round trip`;
  const remedy =
    'Move Redis closer, or find the cause (`redis-cli --latency`, SLOWLOG): a run makes about fifteen round trips.';
  if (ms <= 50) return ok(ms <= 10 ? 'at most 10 ms a round trip' : 'at most 50 ms a round trip');
  return ms <= 1_000 ? warn(detail, remedy) : fail(detail, remedy);
}

/**
 * What is known of the Redis of `REDIS_URL`, by looking alone: nothing is written.
 * @returns the client for those who look further, for as long as `scope` is open; undefined where it cannot be used
 */
export async function checkRedis({
  config,
  clock,
}: Pick<AppContext, 'config' | 'clock'>): Promise<{ readonly findings: Finding[]; readonly redis?: RedisClient }> {
  let redis: RedisClient;
  try {
    redis = await openRedis(config.REDIS_URL, 'producer', silentLog);
  } catch (thrown) {
    return { findings: [{ what: 'Redis', ...resultOfError(thrown) }] };
  }
  const findings: Finding[] = [];
  const facts = await assertSuitable(redis, silentLog).catch((thrown: unknown) => {
    findings.push({ what: 'Redis', ...resultOfError(thrown) });
  });
  if (facts) {
    const { version, policy, logged, persistent } = facts;
    findings.push({ what: 'Redis', ...ok(`${redisName(redis)}, version ${version}, ${policy}`) });
    const servers = masterNodes(redis);
    const infos = await Promise.all(servers.map((server) => server.info())).catch(() => []);
    const writeError = infos.map(findWriteError).find((why) => why !== undefined);
    findings.push({ what: 'Redis on disk', ...evaluatePersistence({ logged, persistent, writeError }) });
    const worst = infos
      .map(parseMemoryUsage)
      .sort((a, b) => usedRatio(b) - usedRatio(a))
      .at(0);
    if (worst !== undefined) findings.push({ what: 'Redis memory', ...evaluateMemory(worst) });
  }
  const first = masterNodes(redis)[0];
  if (first !== undefined) {
    findings.push(await runCheck('Redis latency', async () => evaluateLatency(await measureRoundTrip(first))));
    findings.push(
      await runCheck('Redis clock', async () => {
        const before = clock.now();
        const [seconds, micros] = await first.time();
        const middle = (before + clock.now()) / 2;
        const wall = Number(seconds) * 1000 + Number(micros) / 1000;
        const skew = evaluateClockSkew(wall - middle, 'Redis', REDIS_SKEW_LIMITS);
        const steps = facts ? await redisClock(redis, { prefix: DEFAULT_KEY_PREFIX }).read() : NO_STEPS;
        return skew.state === 'ok' ? evaluateClockSteps(steps, wall, skew) : skew;
      }),
    );
  }
  if (facts) return { findings, redis };
  redis.disconnect();
  return { findings };
}

const masterNodes = (redis: RedisClient): readonly Redis[] => ('nodes' in redis ? redis.nodes('master') : [redis]);

const field = (info: string, key: string): string => new RegExp(`^${key}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';

function findWriteError(info: string): string | undefined {
  const states = ['aof_last_write_status', 'aof_last_bgrewrite_status', 'rdb_last_bgsave_status'] as const;
  const found = states.find((name) => field(info, name) === 'err');
  return found === undefined ? undefined : `${found}:err`;
}

const parseMemoryUsage = (info: string): MemoryUsage => ({
  used: Number(field(info, 'used_memory')) || 0,
  limit: Number(field(info, 'maxmemory')) || 0,
  machine: Number(field(info, 'total_system_memory')) || 0,
});

const usedRatio = ({ used, limit, machine }: MemoryUsage): number =>
  used / (limit || machine || Number.POSITIVE_INFINITY);

const PING_COUNT = 5;

async function measureRoundTrip(server: Redis): Promise<number> {
  const times: number[] = [];
  for (let ping = 0; ping < PING_COUNT; ping += 1) {
    const before = performance.now();
    await server.ping();
    times.push(performance.now() - before);
  }
  return times.sort((a, b) => a - b)[Math.floor(PING_COUNT / 2)] ?? 0;
}
