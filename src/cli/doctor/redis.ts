import type { Redis } from 'ioredis';
import { silentLog } from '../../base/log.ts';
import type { RedisClient } from '../../base/redis-client.ts';
import type { Surroundings } from '../../compose/ports.ts';
import { assertSuitable, openRedis, redisName } from '../../queue/connection.ts';
import { DEFAULT_PREFIX } from '../../queue/keys.ts';
import { NO_STEPS, redisClock } from '../../queue/redis-clock.ts';
import { judgeSkew, judgeSteps, REDIS_SKEW } from './clock.ts';
import { examine, type Finding, fail, failed, ok, sizeWords, type Verdict, warn } from './finding.ts';

/** What a server's INFO says of keeping what it holds. */
export interface Keeping {
  /** Whether each write goes to a log. */
  readonly logged: boolean;
  /** Whether anything survives a restart; undefined where the server does not let us ask. */
  readonly persistent: boolean | undefined;
  /** Why its last write to the disk failed; undefined when it did not. */
  readonly broken: string | undefined;
}

export function judgeKeeping({ logged, persistent, broken }: Keeping): Verdict {
  if (broken !== undefined) {
    return fail(
      `Redis could not write to its disk (${broken})`,
      'Give it room and rights in its folder: it loses what it holds, or refuses writes.',
    );
  }
  const remedy =
    'Turn on `appendonly yes`, best with `appendfsync always`; `docket start --require-durable` insists on it.';
  if (logged) return ok('each write is logged (appendonly yes)');
  if (persistent === undefined) return ok('not told by the server: ask whoever runs it whether it survives a restart');
  if (persistent) return warn('snapshots alone: what came after the last one is lost in a crash', remedy);
  return warn('nothing kept on disk: a restart of Redis forgets runs and deliveries', remedy);
}

/** Bytes; 0 of `limit`: none. */
export interface Memory {
  readonly used: number;
  readonly limit: number;
  /** Of the machine; 0 where the server does not tell. */
  readonly machine: number;
}

export function judgeMemory({ used, limit, machine }: Memory): Verdict {
  const most = limit > 0 ? limit : machine;
  const detail = `${sizeWords(used)} used, ${limit > 0 ? `limit ${sizeWords(limit)}` : 'no limit of its own'}`;
  const remedy = 'Raise maxmemory (the policy has to stay noeviction): a full Redis refuses to write, and runs wait.';
  if (most === 0 || used < most * 0.75) return ok(detail);
  return used < most * 0.9 ? warn(detail, remedy) : fail(detail, remedy);
}

/** @param ms the median of some pings */
export function judgeLatency(ms: number): Verdict {
  const detail = `${ms < 10 ? Number(ms.toFixed(1)) : Math.round(ms)} ms a round trip`;
  const remedy =
    'Put Redis nearer, or find out what holds it up (`redis-cli --latency`, SLOWLOG): a run asks it some fifteen times.';
  if (ms <= 50) return ok(ms <= 10 ? 'at most 10 ms a round trip' : 'at most 50 ms a round trip');
  return ms <= 1_000 ? warn(detail, remedy) : fail(detail, remedy);
}

/**
 * What is known of the Redis of `REDIS_URL`, by looking alone: nothing is written.
 * @returns the client for those who look further, for as long as `scope` is open; undefined where it cannot be used
 */
export async function examineRedis({
  config,
  clock,
}: Pick<Surroundings, 'config' | 'clock'>): Promise<{ readonly findings: Finding[]; readonly redis?: RedisClient }> {
  let redis: RedisClient;
  try {
    redis = await openRedis(config.REDIS_URL, 'producer', silentLog);
  } catch (thrown) {
    return { findings: [{ what: 'Redis', ...failed(thrown) }] };
  }
  const findings: Finding[] = [];
  const facts = await assertSuitable(redis, silentLog).catch((thrown: unknown) => {
    findings.push({ what: 'Redis', ...failed(thrown) });
  });
  if (facts) {
    const { version, policy, logged, persistent } = facts;
    findings.push({ what: 'Redis', ...ok(`${redisName(redis)}, version ${version}, ${policy}`) });
    const servers = serversOf(redis);
    const infos = await Promise.all(servers.map((server) => server.info())).catch(() => []);
    const broken = infos.map(brokenDisk).find((why) => why !== undefined);
    findings.push({ what: 'Redis on disk', ...judgeKeeping({ logged, persistent, broken }) });
    const worst = infos
      .map(memoryOf)
      .sort((a, b) => fullness(b) - fullness(a))
      .at(0);
    if (worst !== undefined) findings.push({ what: 'Redis memory', ...judgeMemory(worst) });
  }
  const first = serversOf(redis)[0];
  if (first !== undefined) {
    findings.push(await examine('Redis latency', async () => judgeLatency(await roundTrip(first))));
    findings.push(
      await examine('Redis clock', async () => {
        const before = clock.now();
        const [seconds, micros] = await first.time();
        const middle = (before + clock.now()) / 2;
        const wall = Number(seconds) * 1000 + Number(micros) / 1000;
        const skew = judgeSkew(wall - middle, 'Redis', REDIS_SKEW);
        const steps = facts ? await redisClock(redis, { prefix: DEFAULT_PREFIX }).read() : NO_STEPS;
        return skew.state === 'ok' ? judgeSteps(steps, wall, skew) : skew;
      }),
    );
  }
  if (facts) return { findings, redis };
  redis.disconnect();
  return { findings };
}

const serversOf = (redis: RedisClient): readonly Redis[] => ('nodes' in redis ? redis.nodes('master') : [redis]);

const field = (info: string, key: string): string => new RegExp(`^${key}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';

function brokenDisk(info: string): string | undefined {
  const states = ['aof_last_write_status', 'aof_last_bgrewrite_status', 'rdb_last_bgsave_status'] as const;
  const found = states.find((name) => field(info, name) === 'err');
  return found === undefined ? undefined : `${found}:err`;
}

const memoryOf = (info: string): Memory => ({
  used: Number(field(info, 'used_memory')) || 0,
  limit: Number(field(info, 'maxmemory')) || 0,
  machine: Number(field(info, 'total_system_memory')) || 0,
});

const fullness = ({ used, limit, machine }: Memory): number => used / (limit || machine || Number.POSITIVE_INFINITY);

const PINGS = 5;

async function roundTrip(server: Redis): Promise<number> {
  const times: number[] = [];
  for (let ping = 0; ping < PINGS; ping += 1) {
    const before = performance.now();
    await server.ping();
    times.push(performance.now() - before);
  }
  return times.sort((a, b) => a - b)[Math.floor(PINGS / 2)] ?? 0;
}
