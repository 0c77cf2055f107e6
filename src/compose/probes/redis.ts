import { DocketError } from '../../base/error.ts';
import { masterNodes, redisName } from '../../redis/client.ts';
import type { RedisServerInfo } from '../../redis/server-check.ts';
import { parseInfo, type RedisMemory, readRedisMemory } from '../../redis/server-info.ts';
import { type CheckResult, fail, formatByteSize, ok, resultOfError, warn } from '../../services/deployment/probe.ts';
import type { Examination, Probed } from './probe-context.ts';

export function checkServer({ redis, server }: Examination): CheckResult {
  if (redis === undefined || server instanceof DocketError) return resultOfError(server);
  return ok(`${redisName(redis)}, version ${server.version}, ${server.policy}`);
}

export async function checkPersistence({ redis, server }: Examination): Promise<CheckResult | undefined> {
  if (redis === undefined || server instanceof DocketError) return undefined;
  const infos = await Promise.all(masterNodes(redis).map((each) => each.info())).catch(() => []);
  return evaluatePersistence(
    server,
    infos.map(findWriteError).find((why) => why !== undefined),
  );
}

/** @param writeError the error of the last write to disk, according to INFO */
export function evaluatePersistence(
  { logged, persistent }: Pick<RedisServerInfo, 'logged' | 'persistent'>,
  writeError: string | undefined,
): CheckResult {
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

function findWriteError(info: string): string | undefined {
  const states = ['aof_last_write_status', 'aof_last_bgrewrite_status', 'rdb_last_bgsave_status'];
  const found = states.find((name) => parseInfo(info)(name) === 'err');
  return found === undefined ? undefined : `${found}:err`;
}

/** @param writeFailure why the last trial write of this process failed */
export function evaluateMemory(memory: RedisMemory | null, writeFailure?: string): CheckResult | undefined {
  const remedy =
    'Raise maxmemory: `redis-cli config set maxmemory 2gb`, and in redis.conf. Keep the policy noeviction: a full Redis refuses to write, and runs wait.';
  if (writeFailure !== undefined) {
    const cause = writeFailure.replace(/\.$/, '');
    return { ...fail(`${cause}. Runs wait, and no decision can be recorded`, remedy), problem: 'redis.writes' };
  }
  if (memory === null) return undefined;
  const { usedBytes: used, limitBytes: limit, machineBytes = 0 } = memory;
  const share = used / (limit || machineBytes || Number.POSITIVE_INFINITY);
  const amounts = `${formatByteSize(used)} used, ${limit > 0 ? `limit ${formatByteSize(limit)}` : 'no limit of its own'}`;
  if (share < 0.75) return ok(amounts);
  if (share < 0.9) return warn(amounts, remedy);
  const cause =
    share >= 1
      ? `Redis is full (${amounts}): runs wait, and no decision can be recorded`
      : `Redis uses ${Math.round(100 * share)} % of its memory (${amounts}). When it is full, runs wait`;
  return { ...fail(cause, remedy), problem: 'redis.memory' };
}

export const checkMemory = async ({ redis, writeFailure }: Probed): Promise<CheckResult | undefined> =>
  evaluateMemory(await readRedisMemory(redis), writeFailure);

/** @param ms the median of several pings */
export function evaluateLatency(ms: number): CheckResult {
  const detail = `${ms < 10 ? Number(ms.toFixed(1)) : Math.round(ms)} ms a round trip`;
  const remedy =
    'Move Redis closer, or find the cause (`redis-cli --latency`, SLOWLOG): a run makes about fifteen round trips.';
  if (ms <= 50) return ok(ms <= 10 ? 'at most 10 ms a round trip' : 'at most 50 ms a round trip');
  return ms <= 1_000 ? warn(detail, remedy) : fail(detail, remedy);
}

const PING_COUNT = 5;

export async function checkLatency({ redis }: Examination): Promise<CheckResult | undefined> {
  const server = redis && masterNodes(redis)[0];
  if (server === undefined) return undefined;
  const times: number[] = [];
  for (let ping = 0; ping < PING_COUNT; ping += 1) {
    const before = performance.now();
    await server.ping();
    times.push(performance.now() - before);
  }
  return evaluateLatency(times.sort((a, b) => a - b)[Math.floor(PING_COUNT / 2)] ?? 0);
}
