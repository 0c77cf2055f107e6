import { Cluster, type ClusterOptions, type CommonRedisOptions, Redis } from 'ioredis';
import { DocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { createRedactor, passwordsIn, type Redact } from '../base/redactor.ts';
import { reasonOf, redisAway, redisError } from '../base/redis-error.ts';
import { type Endpoint, type RedisPlace, readRedisUrl } from '../base/redis-url.ts';
import type { RedisClient } from './script.ts';

/** How long a server may take to be reached at start, ms. */
const CONNECT_MS = 1_800;
/** How long a producer's command may go unanswered, ms: someone is waiting for it. */
const COMMAND_MS = 2_000;
/** A connection on which nothing answers for so long is another than the server's, ms. BullMQ blocks for ten seconds. */
const SILENT_MS = 20_000;

/**
 * - `producer`: for triggers, stores and the admin route. Fails at once when Redis is away; somebody waits for the answer.
 * - `worker`: for BullMQ's workers. Waits for Redis to come back; a job in hand must survive a restart or a failover.
 */
export type ClientRole = 'producer' | 'worker';

const OPTIONS: Record<
  ClientRole,
  Pick<CommonRedisOptions, 'maxRetriesPerRequest' | 'enableOfflineQueue' | 'commandTimeout' | 'socketTimeout'>
> = {
  producer: { maxRetriesPerRequest: 1, enableOfflineQueue: false, commandTimeout: COMMAND_MS },
  worker: { maxRetriesPerRequest: null, socketTimeout: SILENT_MS },
};

/** How often a command is tried anew while a Cluster makes another node the master, and ms in between. */
const REDIRECTIONS: Record<ClientRole, Pick<ClusterOptions, 'maxRedirections' | 'retryDelayOnFailover'>> = {
  producer: { maxRedirections: 16, retryDelayOnFailover: 100 },
  worker: { maxRedirections: 500, retryDelayOnFailover: 250 },
};

const retryMs = (times: number): number => Math.min(times * 100, 2_000);

/** Host and port, never user or password: what an error or a log line may say of a Redis. */
export function redisName(redis: RedisClient): string {
  if ('nodes' in redis) {
    const known = redis.nodes().map(({ options: { host = '?', port = 0 } }) => `${host}:${port}`);
    return known.length === 0 ? 'the Redis Cluster' : `the Cluster of ${known.sort().join(', ')}`;
  }
  const { path, host, port, sentinels, name } = redis.options;
  if (sentinels != null) return `${name} of the Sentinels ${sentinels.map(endpoint).join(', ')}`;
  return path ?? `${host ?? '127.0.0.1'}:${port ?? 6379}`;
}

const endpoint = ({ host = '127.0.0.1', port = 26_379 }: Partial<Endpoint>): string => `${host}:${port}`;

/**
 * A connected client. Throws `redis.unreachable` within about two seconds when there is no Redis at the URL, or when it
 * refuses us; afterwards the client reconnects by itself, and follows a failover.
 *
 * @param url as `readRedisUrl` takes it; it may hold a password and is never repeated
 */
export async function openRedis(url: string, role: ClientRole, log: Log): Promise<RedisClient> {
  const place = readRedisUrl(url);
  if (typeof place === 'string') {
    throw new DocketError('config.invalid', 'REDIS_URL names no Redis.', { where: 'REDIS_URL', expected: place });
  }
  const redis = place.kind === 'cluster' ? clusterOf(place, role) : serverOf(place, role);
  const named = place.kind === 'cluster' ? `the Cluster of ${place.nodes.map(endpoint).join(', ')}` : redisName(redis);
  let failure: unknown;
  let open = false;
  const failed = (error: unknown): void => {
    failure = error;
    if (open) log.warn('Redis: the connection has a fault; reconnecting', { url: named, why: reasonOf(error) });
  };
  if ('nodes' in redis) {
    // What one node says is nearer to the cause than that all of them failed, which is an error to be listened to as well.
    redis.on('node error', failed);
    redis.on('error', (error) => {
      failure ??= error;
    });
  } else redis.on('error', failed);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${CONNECT_MS} ms`)), CONNECT_MS);
  });
  const ready = new Promise<void>((resolve) => redis.once('ready', resolve));
  try {
    // `connect()` also rejects while ioredis itself goes on trying, e.g. when the server is still loading its data.
    await Promise.race([redis.connect().then(() => ready), late]);
    // ioredis goes on in database 0 when the one of the URL is refused: two deployments kept apart would meet there.
    if (!('nodes' in redis) && redis.options.db) await redis.select(redis.options.db);
  } catch (error) {
    redis.disconnect();
    const cause = failure ?? error;
    const context = { server: `Redis at ${named}`, redact: withoutPasswords(url) };
    const known = redisError(cause, context);
    throw known instanceof DocketError ? known : redisAway(cause, context);
  } finally {
    clearTimeout(timer);
  }
  open = true;
  return redis;
}

/** Signing in is when a server is told a password, and may repeat it. */
function withoutPasswords(url: string): Redact {
  const { learn, redact } = createRedactor();
  for (const password of passwordsIn(url)) learn(password);
  return redact;
}

function serverOf(place: Exclude<RedisPlace, { kind: 'cluster' }>, role: ClientRole): Redis {
  const options = {
    ...OPTIONS[role],
    lazyConnect: true,
    connectTimeout: CONNECT_MS,
    retryStrategy: retryMs,
    // The master of before has become a replica: the name leads elsewhere now. 2: connect anew and send it again.
    reconnectOnError: (error: Error) => (error.message.startsWith('READONLY') ? 2 : false),
  } as const;
  if (place.kind === 'server') return new Redis(place.url, options);
  const { nodes, master, db, username, password, sentinelUsername, sentinelPassword, tls } = place;
  return new Redis({
    ...options,
    sentinels: nodes.map(({ host, port }) => ({ host, port })),
    name: master,
    db,
    sentinelRetryStrategy: retryMs,
    // A master that is cut off keeps its connections: the Sentinels say that it is none any more.
    failoverDetector: true,
    ...given({ username, password, sentinelUsername, sentinelPassword }),
    ...(tls ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
  });
}

function clusterOf({ nodes, username, password, tls }: RedisPlace & { kind: 'cluster' }, role: ClientRole): Cluster {
  // A node's connection is opened by its first command, which therefore has to wait; the Cluster itself fails at once.
  const { enableOfflineQueue = true, ...ofNodes } = OPTIONS[role];
  return new Cluster(
    nodes.map(({ host, port }) => ({ host, port })),
    {
      lazyConnect: true,
      enableOfflineQueue,
      clusterRetryStrategy: retryMs,
      slotsRefreshTimeout: CONNECT_MS,
      retryDelayOnClusterDown: REDIRECTIONS[role].retryDelayOnFailover ?? 100,
      ...REDIRECTIONS[role],
      redisOptions: {
        ...ofNodes,
        connectTimeout: CONNECT_MS,
        ...given({ username, password }),
        ...(tls ? { tls: {} } : {}),
      },
      // The name is what the certificate is for; an address would not match it.
      ...(tls ? { dnsLookup: (host, done) => done(null, host) } : {}),
    },
  );
}

/** What is undefined left out: ioredis takes it for a value. */
const given = (values: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));

/** What a question to Redis threw, as `redisError` says, with the server's name. */
export const redisFailure = (redis: RedisClient, thrown: unknown): unknown =>
  redisError(thrown, { server: `Redis at ${redisName(redis)}` });

/** Asks Redis; a failure is thrown as `redisFailure` says. */
export async function asking<Reply>(redis: RedisClient, question: () => Promise<Reply>): Promise<Reply> {
  try {
    return await question();
  } catch (error) {
    throw redisFailure(redis, error);
  }
}

/** What was found out about a server. */
export interface RedisFacts {
  readonly version: string;
  readonly policy: string;
  /** Whether what it holds survives its restart; undefined where the server does not let us ask. */
  readonly persistent: boolean | undefined;
  /** Whether each write goes to its log (AOF). Snapshots alone lose what came after the last one. */
  readonly logged: boolean;
}

/** The oldest server with everything that BullMQ and our scripts use. */
const OLDEST: readonly [number, number] = [6, 2];

/**
 * Refuses a Redis that would lose runs silently: of a Cluster, each master is asked, since slots may move. Throws
 * `redis.unsuitable` for one that may evict keys or is too old; warns when nothing of it is kept on disk.
 * Returns what is known of the worst of them.
 *
 * @param requireDurable refuses one that does not log each write, too
 */
export async function assertSuitable(
  redis: RedisClient,
  log: Log,
  { requireDurable = false }: { readonly requireDurable?: boolean } = {},
): Promise<RedisFacts> {
  const clustered = 'nodes' in redis;
  const servers = clustered ? redis.nodes('master') : [redis];
  const found = await Promise.all(
    servers.map((server) => factsOf(server, clustered ? redisName(server) : redisName(redis), clustered)),
  );
  const name = redisName(redis);
  const logged = found.every((facts) => facts.logged);
  const persistent = worst(found.map((facts) => facts.persistent));
  const [facts] = found;
  if (facts === undefined) throw redisAway(new Error('the cluster has no master'), { server: `Redis at ${name}` });
  if (requireDurable && !logged) {
    throw new DocketError('redis.unsuitable', `Redis at ${name} does not log its writes: ${LOSES}`, {
      where: 'REDIS_URL, --require-durable',
      expected: 'appendonly yes',
      got: persistent === true ? 'snapshots alone' : 'appendonly no',
      next: 'Run `redis-cli config set appendonly yes` and write it into redis.conf (best with `appendfsync always`).',
    });
  }
  if (persistent === false) {
    log.warn(
      `Redis keeps nothing on disk: ${LOSES} Turn on \`appendonly yes\` (best with \`appendfsync always\`); \`docket start --require-durable\` insists on it.`,
      { url: name },
    );
  }
  return { ...facts, persistent, logged };
}

const worst = (known: readonly (boolean | undefined)[]): boolean | undefined =>
  known.includes(false) ? false : known.includes(undefined) ? undefined : true;

async function factsOf(server: Redis, name: string, clustered: boolean): Promise<RedisFacts> {
  const info = await asking(server, () => server.info());
  const field = (key: string) => new RegExp(`^${key}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  const version = field('valkey_version') || field('redis_version');
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    throw new DocketError('redis.unsuitable', `Redis at ${name} is too old.`, {
      where: 'REDIS_URL',
      expected: `version ${OLDEST.join('.')} or later`,
      got: version || 'a server that does not tell its version',
      next: 'Upgrade the server.',
    });
  }
  if (!clustered && field('cluster_enabled') === '1') {
    throw new DocketError('redis.unsuitable', `Redis at ${name} is a node of a Cluster.`, {
      where: 'REDIS_URL',
      expected: 'redis+cluster://host:port,host:port for a Cluster',
      got: 'the address of one server',
      next: 'Write redis+cluster:// (rediss+cluster:// with TLS) in front of the addresses of some of its nodes.',
    });
  }
  const policy = field('maxmemory_policy');
  if (policy !== 'noeviction') {
    throw new DocketError(
      'redis.unsuitable',
      `Redis at ${name} may throw away keys when its memory is full: runs and deliveries would be lost.`,
      {
        where: 'REDIS_URL',
        expected: 'maxmemory-policy noeviction',
        got: `maxmemory-policy ${policy || 'unknown'}`,
        next: 'Run `redis-cli config set maxmemory-policy noeviction` and write it into redis.conf, or use a Redis of its own.',
      },
    );
  }
  const logged = field('aof_enabled') === '1';
  return { version, policy, logged, persistent: logged ? true : await savesSnapshots(server) };
}

/** What is at stake. What was delivered is in the archive as well. */
const LOSES =
  'a restart of it forgets runs that wait or are under way, slots to be made up for, decisions and notices that are owed.';

// Hosted servers often forbid CONFIG: then it is not known, which is not a reason to warn.
async function savesSnapshots(redis: Redis): Promise<boolean | undefined> {
  try {
    const reply = await redis.config('GET', 'save');
    const value = Array.isArray(reply) ? reply[1] : undefined;
    return typeof value === 'string' ? value !== '' : undefined;
  } catch {
    return undefined;
  }
}
