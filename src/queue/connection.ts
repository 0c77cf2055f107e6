import { type CommonRedisOptions, Redis } from 'ioredis';
import { DocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import type { RedisClient } from './script.ts';

/** How long a server may take to be reached at start, ms. */
const CONNECT_MS = 1_800;
/** How long a producer's command may go unanswered, ms: someone is waiting for it. */
const COMMAND_MS = 2_000;

/**
 * - `producer`: for triggers, stores and the admin route. Fails at once when Redis is away; somebody waits for the answer.
 * - `worker`: for BullMQ's workers. Waits for Redis to come back; a job in hand must survive a restart of the server.
 */
export type ClientRole = 'producer' | 'worker';

const OPTIONS: Record<
  ClientRole,
  Pick<CommonRedisOptions, 'maxRetriesPerRequest' | 'enableOfflineQueue' | 'commandTimeout'>
> = {
  producer: { maxRetriesPerRequest: 1, enableOfflineQueue: false, commandTimeout: COMMAND_MS },
  worker: { maxRetriesPerRequest: null },
};

/** Host and port, never user or password: what an error or a log line may say of a Redis. */
export function redisName(redis: RedisClient): string {
  if ('nodes' in redis) return 'the Redis cluster';
  const { path, host, port } = redis.options;
  return path ?? `${host ?? '127.0.0.1'}:${port ?? 6379}`;
}

/**
 * A connected client. Throws `redis.unreachable` within about two seconds when there is no Redis at the URL, or when it
 * refuses us; afterwards the client reconnects by itself.
 *
 * @param url `redis:` or `rediss:`; it may hold a password and is never repeated
 */
export async function openRedis(url: string, role: ClientRole, log: Log): Promise<Redis> {
  const redis = new Redis(url, {
    ...OPTIONS[role],
    lazyConnect: true,
    connectTimeout: CONNECT_MS,
    retryStrategy: (times) => Math.min(times * 100, 2_000),
  });
  const name = redisName(redis);
  let failure: unknown;
  let open = false;
  redis.on('error', (error) => {
    failure = error;
    if (open) log.warn('Redis: the connection has a fault; reconnecting', { url: name, why: reason(error) });
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${CONNECT_MS} ms`)), CONNECT_MS);
  });
  const ready = new Promise<void>((resolve) => redis.once('ready', resolve));
  try {
    // `connect()` also rejects while ioredis itself goes on trying, e.g. when the server is still loading its data.
    await Promise.race([redis.connect().then(() => ready), late]);
    // ioredis goes on in database 0 when the one of the URL is refused: two deployments kept apart would meet there.
    if (redis.options.db) await redis.select(redis.options.db);
  } catch (error) {
    redis.disconnect();
    throw unreachable(name, failure ?? error);
  } finally {
    clearTimeout(timer);
  }
  open = true;
  return redis;
}

const reason = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return error.message || code || error.name;
};

function unreachable(name: string, cause: unknown): DocketError {
  const why = reason(cause);
  const credentials = /NOAUTH|WRONGPASS|NOPERM|invalid password/i.test(why);
  return new DocketError('redis.unreachable', `Redis at ${name} ${credentials ? 'refuses us' : 'cannot be reached'}.`, {
    where: 'REDIS_URL',
    expected: 'a Redis or Valkey server that answers',
    got: why,
    next: credentials
      ? 'Correct the user and the password in REDIS_URL, or the rights of that user.'
      : 'Start the server (`redis-server --appendonly yes`), or point REDIS_URL to one that runs.',
    cause,
  });
}

// What ioredis and the socket say when the server is away, against what the server itself answers.
const AWAY =
  /Stream isn't writeable|Connection is closed|Command timed out|max retries per request|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ClusterAllFailed|NOAUTH|WRONGPASS|NOPERM|LOADING|MASTERDOWN|CLUSTERDOWN|READONLY/i;

/**
 * What a question to Redis threw, as an error for a person: `redis.unreachable` when it is away (nothing is done without
 * it), `redis.unsuitable` when it is full. Anything else is returned as it is.
 */
export function redisFailure(redis: RedisClient, thrown: unknown): unknown {
  if (thrown instanceof DocketError || !(thrown instanceof Error)) return thrown;
  const text = `${thrown.name} ${reason(thrown)}`;
  if (/\bOOM\b/.test(text)) {
    return new DocketError('redis.unsuitable', `Redis at ${redisName(redis)} is full and refuses to write.`, {
      where: 'REDIS_URL',
      got: reason(thrown),
      next: 'Raise its maxmemory; the policy has to stay noeviction.',
      retryable: true,
      cause: thrown,
    });
  }
  return AWAY.test(text) ? unreachable(redisName(redis), thrown) : thrown;
}

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
 * Refuses a Redis that would lose runs silently. Throws `redis.unsuitable` for one that may evict keys or is too old;
 * warns when nothing of it is kept on disk.
 *
 * @param requireDurable refuses one that does not log each write, too
 */
export async function assertSuitable(
  redis: Redis,
  log: Log,
  { requireDurable = false }: { readonly requireDurable?: boolean } = {},
): Promise<RedisFacts> {
  const info = await asking(redis, () => redis.info());
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  const version = field('valkey_version') || field('redis_version');
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    throw new DocketError('redis.unsuitable', `Redis at ${redisName(redis)} is too old.`, {
      where: 'REDIS_URL',
      expected: `version ${OLDEST.join('.')} or later`,
      got: version || 'a server that does not tell its version',
      next: 'Upgrade the server.',
    });
  }
  const policy = field('maxmemory_policy');
  if (policy !== 'noeviction') {
    throw new DocketError(
      'redis.unsuitable',
      `Redis at ${redisName(redis)} may throw away keys when its memory is full: runs and deliveries would be lost.`,
      {
        where: 'REDIS_URL',
        expected: 'maxmemory-policy noeviction',
        got: `maxmemory-policy ${policy || 'unknown'}`,
        next: 'Run `redis-cli config set maxmemory-policy noeviction` and write it into redis.conf, or use a Redis of its own.',
      },
    );
  }
  const logged = field('aof_enabled') === '1';
  const persistent = logged ? true : await savesSnapshots(redis);
  if (requireDurable && !logged) {
    throw new DocketError('redis.unsuitable', `Redis at ${redisName(redis)} does not log its writes: ${LOSES}`, {
      where: 'REDIS_URL, --require-durable',
      expected: 'appendonly yes',
      got: persistent === true ? 'snapshots alone' : 'appendonly no',
      next: 'Run `redis-cli config set appendonly yes` and write it into redis.conf (best with `appendfsync always`).',
    });
  }
  if (persistent === false) {
    log.warn(
      `Redis keeps nothing on disk: ${LOSES} Turn on \`appendonly yes\` (best with \`appendfsync always\`); \`docket start --require-durable\` insists on it.`,
      { url: redisName(redis) },
    );
  }
  return { version, policy, persistent, logged };
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
