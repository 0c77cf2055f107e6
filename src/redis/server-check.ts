import type { Redis } from 'ioredis';
import { DocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { MINUTE_MS } from '../base/time.ts';
import { isCluster, masterNodes, type RedisClient, redisName } from './client.ts';
import { redisUnreachable, withRedisErrors } from './errors.ts';
import { redisKeys } from './keys.ts';
import { parseInfo } from './server-info.ts';

/** The properties of a server that matter to Docket. */
export interface RedisServerInfo {
  readonly version: string;
  readonly policy: string;
  /** Whether data survives a restart; undefined if the server does not allow the query. */
  readonly persistent: boolean | undefined;
  /** Whether each write goes to the append-only file (AOF). Snapshots alone lose everything after the last one. */
  readonly logged: boolean;
}

/** The oldest server version with everything that BullMQ and our scripts use. */
const MIN_VERSION: readonly [number, number] = [6, 2];
const PROBE_TTL_MS = MINUTE_MS;

const DATA_LOSS_TEXT =
  'a restart loses queued and running runs, missed slots that are still to be caught up, and pending decisions and notices.';

/**
 * Checks that Redis keeps runs. Checks every master of a Cluster, since hash slots may move. Warns if nothing is kept
 * on disk. Throws `redis.unsuitable` for a server that may evict keys or is too old.
 *
 * @param requireDurable also throws without AOF
 * @returns the first server's properties; `persistent` and `logged` are the worst values of all servers
 */
export async function assertSuitable(
  redis: RedisClient,
  log: Log,
  { requireDurable = false }: { readonly requireDurable?: boolean } = {},
): Promise<RedisServerInfo> {
  const clustered = isCluster(redis);
  const servers = await Promise.all(
    masterNodes(redis).map((server) => inspectServer(server, redisName(clustered ? server : redis), clustered)),
  );
  const name = redisName(redis);
  const [first] = servers;
  if (first === undefined) throw redisUnreachable(new Error('the cluster has no master'), { server: redis });
  const logged = servers.every((server) => server.logged);
  const persistent = worstPersistence(servers.map((server) => server.persistent));
  if (requireDurable && !logged) {
    throw new DocketError('redis.unsuitable', `Redis at ${name} has AOF disabled: ${DATA_LOSS_TEXT}`, {
      where: 'REDIS_URL, --require-durable',
      expected: 'appendonly yes',
      got: persistent === true ? 'snapshots only' : 'appendonly no',
      next: 'Run `redis-cli config set appendonly yes` and write it into redis.conf (best with `appendfsync always`).',
    });
  }
  if (persistent === false) {
    log.warn(
      `Redis keeps nothing on disk: ${DATA_LOSS_TEXT} Set \`appendonly yes\` (best with \`appendfsync always\`); \`docket start --require-durable\` requires it.`,
      { url: name },
    );
  }
  return { ...first, persistent, logged };
}

const worstPersistence = (known: readonly (boolean | undefined)[]): boolean | undefined =>
  known.includes(false) ? false : known.includes(undefined) ? undefined : true;

async function inspectServer(server: Redis, name: string, clustered: boolean): Promise<RedisServerInfo> {
  const field = parseInfo(await withRedisErrors(server, () => server.info()));
  const version = field('valkey_version') || field('redis_version');
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < MIN_VERSION[0] || (major === MIN_VERSION[0] && minor < MIN_VERSION[1])) {
    throw new DocketError('redis.unsuitable', `Redis at ${name} is too old.`, {
      where: 'REDIS_URL',
      expected: `version ${MIN_VERSION.join('.')} or later`,
      got: version || 'a server that reports no version',
      next: 'Upgrade the server.',
    });
  }
  if (!clustered && field('cluster_enabled') === '1') {
    throw new DocketError('redis.unsuitable', `Redis at ${name} is a node of a Cluster.`, {
      where: 'REDIS_URL',
      expected: 'redis+cluster://host:port,host:port for a Cluster',
      got: 'the address of one server',
      next: 'Use redis+cluster:// (rediss+cluster:// with TLS) with the addresses of some of its nodes.',
    });
  }
  const policy = field('maxmemory_policy');
  if (policy !== 'noeviction') throw evictionError(name, policy);
  const logged = field('aof_enabled') === '1';
  return { version, policy, logged, persistent: logged ? true : await savesSnapshots(server) };
}

const evictionError = (name: string, policy: string): DocketError =>
  new DocketError(
    'redis.unsuitable',
    `Redis at ${name} may evict keys when its memory is full: runs and deliveries would be lost.`,
    {
      where: 'REDIS_URL',
      expected: 'maxmemory-policy noeviction',
      got: `maxmemory-policy ${policy || 'unknown'}`,
      next: 'Run `redis-cli config set maxmemory-policy noeviction` and write it into redis.conf, or use a separate Redis.',
    },
  );

/** Undefined if CONFIG is forbidden, as on many hosted servers. */
async function savesSnapshots(redis: Redis): Promise<boolean | undefined> {
  try {
    const reply = await redis.config('GET', 'save');
    const value = Array.isArray(reply) ? reply[1] : undefined;
    return typeof value === 'string' ? value !== '' : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Writes a probe key, and checks that Redis still keeps what is written. Throws the errors of a write
 * (`redis.out_of_memory`, `redis.unwritable`, `redis.unreachable`), and `redis.unsuitable` if the policy now evicts
 * keys. A server that does not report its policy was accepted at the start.
 */
export async function assertWritable(redis: RedisClient, prefix: string): Promise<void> {
  await withRedisErrors(redis, () => redis.set(redisKeys(prefix).writable, '1', 'PX', PROBE_TTL_MS));
  const infos = await Promise.all(masterNodes(redis).map((server) => server.info('memory').catch(() => '')));
  const evicting = infos
    .map((info) => parseInfo(info)('maxmemory_policy') || 'noeviction')
    .find((policy) => policy !== 'noeviction');
  if (evicting !== undefined) throw evictionError(redisName(redis), evicting);
}
