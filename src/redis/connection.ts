import { Cluster, type ClusterOptions, type CommonRedisOptions, Redis, type RedisOptions } from 'ioredis';
import { withTimeout } from '../base/concurrency.ts';
import { parseRedisUrl, type RedisTopology } from '../base/config/redis-url.ts';
import type { AppContext } from '../base/context.ts';
import { DocketError, errorMessage } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { createRedactor, passwordsIn, type Redact } from '../base/secrets/redactor.ts';
import { clusterName, isCluster, type RedisClient, redisName } from './client.ts';
import { redisUnreachable, toRedisError } from './errors.ts';

/** Limit for connecting to a server at the start, ms. */
const CONNECT_TIMEOUT_MS = 1_800;
/** Limit for ending a connection when the caller is in a hurry, ms. */
const DISCONNECT_TIMEOUT_MS = 50;
/** Limit for the reply to a producer's command, ms, because a caller waits for it. */
const COMMAND_TIMEOUT_MS = 2_000;
/** A socket without data for this long, ms, is dead. Must exceed the ten seconds for which BullMQ blocks. */
const SOCKET_TIMEOUT_MS = 20_000;

/**
 * - `producer`: for triggers, stores and the admin route. Fails at once while Redis is unreachable, because a caller
 *   waits.
 * - `worker`: for BullMQ workers. Waits for Redis to return, because a running job must survive a restart or a
 *   failover.
 */
export type ClientRole = 'producer' | 'worker';

const ROLE_OPTIONS: Record<
  ClientRole,
  Pick<CommonRedisOptions, 'maxRetriesPerRequest' | 'enableOfflineQueue' | 'commandTimeout' | 'socketTimeout'>
> = {
  producer: { maxRetriesPerRequest: 1, enableOfflineQueue: false, commandTimeout: COMMAND_TIMEOUT_MS },
  worker: { maxRetriesPerRequest: null, socketTimeout: SOCKET_TIMEOUT_MS },
};

/** How often a command is attempted, and the ms in between, while a Cluster promotes another master. */
const CLUSTER_ROLE_OPTIONS: Record<ClientRole, Pick<ClusterOptions, 'maxRedirections' | 'retryDelayOnFailover'>> = {
  producer: { maxRedirections: 16, retryDelayOnFailover: 100 },
  worker: { maxRedirections: 500, retryDelayOnFailover: 250 },
};

/** A URL for `parseRedisUrl`, or a socket, which no URL can name. Never repeat the URL: it may contain a password. */
export type RedisAddress = string | { readonly path: string };

/** The address of the process's Redis. */
export const redisAddress = ({ config, redis }: Pick<AppContext, 'config' | 'redis'>): RedisAddress =>
  redis || config.REDIS_URL;

/**
 * ioredis reports this when it closes a client for good because a reconnect came while it was reconnecting. It reports
 * nothing when a client is closed on purpose.
 */
const GIVEN_UP = 'Connection is closed.';

const reconnectDelayMs = (times: number): number => Math.min(times * 100, 2_000);

/**
 * Connects a client that later reconnects by itself and follows a failover. Throws within about two seconds:
 * `redis.unreachable` without a server at the URL, `redis.unauthorized` when it rejects the credentials,
 * `config.invalid` for an invalid URL.
 *
 * @param options.connectTimeoutMs shorter than about two seconds, for a caller that can do without Redis
 */
export async function openRedis(
  address: RedisAddress,
  role: ClientRole,
  log: Log,
  { connectTimeoutMs = CONNECT_TIMEOUT_MS }: { readonly connectTimeoutMs?: number } = {},
): Promise<RedisClient> {
  const topology = typeof address === 'string' ? parseRedisUrl(address) : ({ kind: 'socket', ...address } as const);
  if (typeof topology === 'string') {
    throw new DocketError('config.invalid', 'Invalid REDIS_URL.', { where: 'REDIS_URL', expected: topology });
  }
  const redis =
    topology.kind === 'cluster'
      ? createClusterClient(topology, role)
      : createServerClient(topology, role, connectTimeoutMs);
  const server = topology.kind === 'cluster' ? clusterName(topology.nodes) : redisName(redis);
  let failure: unknown;
  let open = false;
  const onError = (error: unknown): void => {
    failure = error;
    if (open) log.warn('Redis connection error; reconnecting', { url: server, why: errorMessage(error) });
  };
  if (isCluster(redis)) {
    // A node's error is closer to the cause than the Cluster's "all nodes failed". That one needs a listener as well.
    redis.on('node error', onError);
    redis.on('error', (error) => {
      failure ??= error;
    });
  } else {
    redis.on('error', onError);
    redis.on('error', (error) => {
      if (open && error.message === GIVEN_UP)
        setImmediate(() => void (redis.status === 'end' && redis.connect().catch(onError)));
    });
  }
  const ready = new Promise<void>((resolve) => redis.once('ready', resolve));
  try {
    // `connect()` may also reject while ioredis keeps trying, e.g. while the server is still loading its data.
    await withTimeout(
      redis.connect().then(() => ready),
      connectTimeoutMs,
      () => {
        throw new Error(`no answer within ${connectTimeoutMs} ms`);
      },
    );
    // If the server rejects the URL's database, ioredis continues in database 0, which may belong to another
    // deployment.
    if (!isCluster(redis) && redis.options.db) await redis.select(redis.options.db);
  } catch (error) {
    redis.disconnect();
    const cause = failure ?? error;
    const context = { server, redact: passwordRedactor(typeof address === 'string' ? address : '') };
    const mapped = toRedisError(cause, context);
    throw mapped instanceof DocketError ? mapped : redisUnreachable(cause, context);
  }
  open = true;
  return redis;
}

/** Redacts the URL's passwords: a server may repeat one while a client signs in. */
function passwordRedactor(url: string): Redact {
  const { registerSecret, redact } = createRedactor();
  for (const password of passwordsIn(url)) registerSecret(password);
  return redact;
}

/**
 * BullMQ removes its listeners from a duplicate before that has closed. Without a listener, ioredis prints later
 * errors, e.g. of a write to a server that is gone.
 */
class ServerClient extends Redis {
  override duplicate(override?: Partial<RedisOptions>): Redis {
    return super.duplicate(override).on('error', () => {});
  }
}

function createServerClient(
  topology: Exclude<RedisTopology, { kind: 'cluster' }> | { readonly kind: 'socket'; readonly path: string },
  role: ClientRole,
  connectTimeoutMs: number,
): Redis {
  const options = {
    ...ROLE_OPTIONS[role],
    lazyConnect: true,
    connectTimeout: connectTimeoutMs,
    // After a disconnect, ioredis keeps the process alive for this long if the socket does not close.
    ...(connectTimeoutMs < CONNECT_TIMEOUT_MS ? { disconnectTimeout: DISCONNECT_TIMEOUT_MS } : {}),
    retryStrategy: reconnectDelayMs,
    // READONLY means that the former master is now a replica. 2: reconnect to the new master, and resend the command.
    reconnectOnError: (error: Error) => (error.message.startsWith('READONLY') ? 2 : false),
  } as const;
  if (topology.kind === 'socket') return new ServerClient({ ...options, path: topology.path });
  if (topology.kind === 'server') return new ServerClient(topology.url, options);
  const { nodes, master, db, username, password, sentinelUsername, sentinelPassword, tls } = topology;
  return new ServerClient({
    ...options,
    sentinels: nodes.map(({ host, port }) => ({ host, port })),
    name: master,
    db,
    sentinelRetryStrategy: reconnectDelayMs,
    // A partitioned master keeps its connections. The Sentinels report that it was replaced.
    failoverDetector: true,
    ...omitUndefined({ username, password, sentinelUsername, sentinelPassword }),
    ...(tls ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
  });
}

function createClusterClient(
  { nodes, username, password, tls }: RedisTopology & { kind: 'cluster' },
  role: ClientRole,
): Cluster {
  // A node's connection is opened by its first command, which must wait for it. The Cluster itself fails at once.
  const { enableOfflineQueue = true, ...nodeOptions } = ROLE_OPTIONS[role];
  return new Cluster(
    nodes.map(({ host, port }) => ({ host, port })),
    {
      lazyConnect: true,
      enableOfflineQueue,
      clusterRetryStrategy: reconnectDelayMs,
      slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
      retryDelayOnClusterDown: CLUSTER_ROLE_OPTIONS[role].retryDelayOnFailover ?? 100,
      ...CLUSTER_ROLE_OPTIONS[role],
      redisOptions: {
        ...nodeOptions,
        connectTimeout: CONNECT_TIMEOUT_MS,
        ...omitUndefined({ username, password }),
        ...(tls ? { tls: {} } : {}),
      },
      // Certificates are issued for the name, and would not match an address.
      ...(tls ? { dnsLookup: (host, done) => done(null, host) } : {}),
    },
  );
}

/** Removes undefined members, which ioredis would take for values. */
const omitUndefined = (values: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
