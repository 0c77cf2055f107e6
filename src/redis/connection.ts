import { Cluster, type ClusterOptions, type CommonRedisOptions, Redis, type RedisOptions } from 'ioredis';
import { withTimeout } from '../base/concurrency.ts';
import { parseRedisUrl, type RedisTopology } from '../base/config/redis-url.ts';
import type { AppContext } from '../base/context.ts';
import { DocketError, errorMessage } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { createRedactor, passwordsIn, type Redact } from '../base/secrets/redactor.ts';
import { clusterName, isCluster, type RedisClient, redisName } from './client.ts';
import { redisUnreachable, toRedisError } from './errors.ts';

/** For connecting to a server at start, ms. */
const CONNECT_TIMEOUT_MS = 1_800;
/** For a connection to end, ms, where the caller is in a hurry. */
const DISCONNECT_TIMEOUT_MS = 50;
/** For the reply to a producer's command, ms: a caller waits for it. */
const COMMAND_TIMEOUT_MS = 2_000;
/** A socket without data for this long, ms, is dead. Longer than the ten seconds for which BullMQ blocks. */
const SOCKET_TIMEOUT_MS = 20_000;

/**
 * - `producer`: for triggers, stores and the admin route. Fails at once while Redis is unreachable: a caller waits.
 * - `worker`: for BullMQ workers. Waits for Redis to return: a running job must survive a restart or a failover.
 */
export type ClientRole = 'producer' | 'worker';

const ROLE_OPTIONS: Record<
  ClientRole,
  Pick<CommonRedisOptions, 'maxRetriesPerRequest' | 'enableOfflineQueue' | 'commandTimeout' | 'socketTimeout'>
> = {
  producer: { maxRetriesPerRequest: 1, enableOfflineQueue: false, commandTimeout: COMMAND_TIMEOUT_MS },
  worker: { maxRetriesPerRequest: null, socketTimeout: SOCKET_TIMEOUT_MS },
};

/** Attempts of a command, and ms between them, while a Cluster promotes another master. */
const CLUSTER_ROLE_OPTIONS: Record<ClientRole, Pick<ClusterOptions, 'maxRedirections' | 'retryDelayOnFailover'>> = {
  producer: { maxRedirections: 16, retryDelayOnFailover: 100 },
  worker: { maxRedirections: 500, retryDelayOnFailover: 250 },
};

/** A URL as `parseRedisUrl` takes it, which may hold a password and is never repeated; or a socket, which no URL can name. */
export type RedisAddress = string | { readonly path: string };

/** Where the process finds its Redis. */
export const redisAddress = ({ config, redis }: Pick<AppContext, 'config' | 'redis'>): RedisAddress =>
  redis || config.REDIS_URL;

/** What ioredis reports when it gives a client up for good, because it was to reconnect while it did; nothing if it is closed on purpose. */
const GIVEN_UP = 'Connection is closed.';

const reconnectDelayMs = (times: number): number => Math.min(times * 100, 2_000);

/**
 * Connects a client, which afterwards reconnects by itself and follows a failover. Throws within about two seconds:
 * `redis.unreachable` without a server at the URL, `redis.unauthorized` when it rejects the credentials, `config.invalid`
 * for an invalid URL.
 *
 * @param options.connectTimeoutMs instead of about two seconds, for a caller that can do without
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
    // A node's error is closer to the cause than the Cluster's "all nodes failed", which needs a listener as well.
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
    // `connect()` also rejects while ioredis keeps trying, e.g. when the server is still loading its data.
    await withTimeout(
      redis.connect().then(() => ready),
      connectTimeoutMs,
      () => {
        throw new Error(`no answer within ${connectTimeoutMs} ms`);
      },
    );
    // When the server rejects the URL's database, ioredis continues in database 0, which may be another deployment's.
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

/** A server may repeat the password while a client signs in. */
function passwordRedactor(url: string): Redact {
  const { registerSecret, redact } = createRedactor();
  for (const password of passwordsIn(url)) registerSecret(password);
  return redact;
}

/**
 * BullMQ takes its listeners off a duplicate before that has closed. Without one, ioredis prints what still fails on it,
 * e.g. a write to a server that is gone.
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
    // After a disconnect, ioredis keeps the process alive for so long where the socket does not close.
    ...(connectTimeoutMs < CONNECT_TIMEOUT_MS ? { disconnectTimeout: DISCONNECT_TIMEOUT_MS } : {}),
    retryStrategy: reconnectDelayMs,
    // The former master has become a replica. 2: reconnect, which resolves the new master, and resend the command.
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
    // A partitioned master keeps its connections; the Sentinels report that it was replaced.
    failoverDetector: true,
    ...omitUndefined({ username, password, sentinelUsername, sentinelPassword }),
    ...(tls ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
  });
}

function createClusterClient(
  { nodes, username, password, tls }: RedisTopology & { kind: 'cluster' },
  role: ClientRole,
): Cluster {
  // A node's connection is opened by its first command, which has to wait for it. The Cluster itself fails at once.
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
      // Certificates are issued for the name; an address would not match.
      ...(tls ? { dnsLookup: (host, done) => done(null, host) } : {}),
    },
  );
}

/** Without undefined members, which ioredis takes for values. */
const omitUndefined = (values: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
