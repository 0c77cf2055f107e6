import { withTimeout } from '../base/concurrency.ts';
import { DocketError, type ErrorCode, errorMessage } from '../base/error.ts';
import { type Redact, redactUntrusted } from '../base/secrets/redactor.ts';
import { SECOND_MS } from '../base/time.ts';
import { type RedisClient, redisName } from './client.ts';

/** How to make a `DocketError` from one kind of error. */
interface RedisErrorMapping {
  readonly code: ErrorCode;
  /** The part of the message after the server's name. */
  readonly summary: string;
  readonly expected: string;
  readonly next: string;
}

const RUNS_RESUME = 'runs resume where they stopped.';

/**
 * Error replies; the first match applies. Redis 7 begins a reply with its code and names the script at the end. Older
 * versions begin an error within a script with `ERR Error running script`; the code comes later.
 */
const REPLY_MAPPINGS: readonly (RedisErrorMapping & { readonly reply: RegExp })[] = [
  {
    reply: /\bOOM\b/,
    code: 'redis.out_of_memory',
    summary: 'is out of memory and accepts no writes.',
    expected: 'memory below its maxmemory',
    next: `Raise maxmemory, or free memory: \`redis-cli --memkeys\` lists the largest keys. Keep maxmemory-policy noeviction; ${RUNS_RESUME}`,
  },
  {
    reply: /\bWRONGTYPE\b/,
    code: 'redis.wrong_type',
    summary: 'holds a value of the wrong type under a key of Docket.',
    expected: 'a key that only Docket writes',
    next: 'Find the other program that writes to this Redis under the same prefix (`redis-cli type <key>`), delete the key, then trigger the report again.',
  },
  {
    reply: /\b(?:NOAUTH|WRONGPASS|invalid (?:username-)?password)\b/,
    code: 'redis.unauthorized',
    summary: 'rejected the credentials.',
    expected: 'the user and the password of this Redis',
    next: `Correct the user and the password in REDIS_URL and restart Docket; ${RUNS_RESUME}`,
  },
  {
    reply: /\bNOPERM\b/,
    code: 'redis.unauthorized',
    summary: 'denies the user a command that Docket needs.',
    expected: 'a user with permission for all commands on the keys of Docket',
    next: `Grant the user more permissions (\`ACL SETUSER\`), or name another one in REDIS_URL; ${RUNS_RESUME}`,
  },
  {
    reply: /\bMISCONF\b/,
    code: 'redis.unwritable',
    summary: 'accepts no writes because it cannot write to its disk.',
    expected: 'a Redis that can save its data',
    next: `Check the log of Redis and the free space on its disk; ${RUNS_RESUME}`,
  },
  {
    reply: /\bNOREPLICAS\b/,
    code: 'redis.unwritable',
    summary: 'accepts no writes because it has too few replicas.',
    expected: 'at least min-replicas-to-write replicas',
    next: `Start the replicas, or lower min-replicas-to-write; ${RUNS_RESUME}`,
  },
  {
    reply: /\bREADONLY\b/,
    code: 'redis.unreachable',
    summary: 'is a read-only replica.',
    expected: 'the master',
    next: 'Wait for the failover to end. If it does not, set REDIS_URL to the master, or to its Sentinels.',
  },
  {
    reply: /\b(?:LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN)\b/,
    code: 'redis.unreachable',
    summary: 'is not ready.',
    expected: 'a server that has loaded its data and a Cluster or replica with its master',
    next: `Wait until it has started or failed over (see \`redis-cli info\`); ${RUNS_RESUME}`,
  },
  {
    reply: /\b(?:BUSY|UNKILLABLE)\b/,
    code: 'redis.unreachable',
    summary: 'is blocked by a script that does not end.',
    expected: 'a server that replies',
    next: `Identify the script (\`redis-cli slowlog get\`) and stop it with \`redis-cli script kill\`; ${RUNS_RESUME}`,
  },
  {
    reply: /\buser_script\b|\bscript: [0-9a-f]{40}\b|Error (?:running|compiling) script/,
    code: 'redis.script_failed',
    summary: 'stopped a script with an error.',
    expected: 'values that only Docket writes, and a server with all commands of Redis 6.2',
    next: 'Check whether another program writes to this Redis under the same prefix; if none does, report this as a defect of Docket.',
  },
];

const UNREACHABLE: RedisErrorMapping = {
  code: 'redis.unreachable',
  summary: 'cannot be reached.',
  expected: 'a Redis or Valkey server that replies',
  next: 'Start the server (`redis-server --appendonly yes`), or set REDIS_URL to a running one.',
};

// Messages of ioredis and of sockets about an unreachable server.
const CONNECTION_ERROR =
  /Stream isn't writeable|Connection is closed|Command timed out|max retries per request|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ClusterAllFailed|Cluster isn't ready|Cluster is ended|startup nodes|slots cache|Too many Cluster redirections|sentinels? are unreachable|Socket timeout/i;

export interface RedisErrorContext {
  /**
   * The server to name in the message, by host and port. A given name must contain no credentials. Absent: not named.
   */
  readonly server?: RedisClient | string | undefined;
  /** The failed operation, which begins the message, e.g. `Nothing was called`. */
  readonly operation?: string | undefined;
  /** Removes the password from the server's text. Only needed while signing in. */
  readonly redact?: Redact;
}

/**
 * Turns a thrown Redis error into a `DocketError` with a code and a next step. Distinguishes unreachable, out of
 * memory, unwritable, unauthorized, wrong type and failed script. Returns anything that Redis did not cause unchanged.
 */
export function toRedisError(thrown: unknown, context: RedisErrorContext = {}): unknown {
  if (thrown instanceof DocketError || !(thrown instanceof Error)) return thrown;
  const mapping = classifyError(thrown);
  return mapping === undefined ? thrown : createRedisError(mapping, thrown, context);
}

/** Makes a `redis.unreachable` error, for a cause that is known to be the connection. */
export const redisUnreachable = (cause: unknown, context: RedisErrorContext = {}): DocketError =>
  createRedisError(UNREACHABLE, cause, context);

function classifyError(thrown: Error): RedisErrorMapping | undefined {
  const reply = replyMessage(thrown);
  const mapping = reply === undefined ? undefined : REPLY_MAPPINGS.find((one) => one.reply.test(reply));
  return mapping ?? (CONNECTION_ERROR.test(`${thrown.name} ${errorMessage(thrown)}`) ? UNREACHABLE : undefined);
}

/** The error reply. If all nodes of a Cluster failed, the last node's reply. */
function replyMessage(thrown: Error): string | undefined {
  if (thrown.name === 'ReplyError') return thrown.message;
  return 'lastNodeError' in thrown && thrown.lastNodeError instanceof Error ? thrown.lastNodeError.message : undefined;
}

function createRedisError(
  { code, summary, expected, next }: RedisErrorMapping,
  cause: unknown,
  { server, operation, redact = (text) => text }: RedisErrorContext,
): DocketError {
  const name = server === undefined ? 'Redis' : `Redis at ${typeof server === 'string' ? server : redisName(server)}`;
  const keys = code === 'redis.wrong_type' || code === 'redis.script_failed' ? commandKeys(cause) : [];
  return new DocketError(code, `${operation === undefined ? '' : `${operation}: `}${name} ${summary}`, {
    where: keys.length === 0 ? 'REDIS_URL' : keys.join(', '),
    expected,
    got: redactUntrusted(errorMessage(cause), redact).replace(COMMAND_ARGUMENTS, ''),
    next,
    cause,
  });
}

/** The reply to an unknown command repeats its arguments. */
const COMMAND_ARGUMENTS = /,? with args beginning with:.*$/s;

/** The keys of the failed command, which ioredis keeps with the error; never its values. */
function commandKeys(thrown: unknown): readonly string[] {
  if (!(thrown instanceof Error && 'command' in thrown)) return [];
  const { command } = thrown;
  if (typeof command !== 'object' || command === null || !('name' in command && 'args' in command)) return [];
  const { name, args } = command;
  if (!Array.isArray(args)) return [];
  const all: readonly unknown[] = args;
  const scripted = name === 'evalsha' || name === 'eval';
  return (scripted ? all.slice(2, 2 + Number(all[1])) : all.slice(0, 1)).map(String);
}

/** What `withRedisErrors` does besides converting errors. */
export interface RedisCommandOptions {
  /** See `RedisErrorContext`. */
  readonly operation?: string;
  /** Throws `redis.unreachable` if there is no reply within this time, ms. Default: the client's own limits. */
  readonly timeoutMs?: number;
}

/**
 * Runs commands, and converts their errors with `toRedisError`.
 *
 * @param redis the server to name in the error; `undefined` if report owners may read the error, because they must not
 * see host names
 */
export async function withRedisErrors<Reply>(
  redis: RedisClient | undefined,
  command: () => Promise<Reply>,
  { operation, timeoutMs }: RedisCommandOptions = {},
): Promise<Reply> {
  const context: RedisErrorContext = { server: redis, operation };
  try {
    if (timeoutMs === undefined) return await command();
    return await withTimeout(command(), timeoutMs, () => {
      throw redisUnreachable(new Error(`no answer within ${timeoutMs} ms`), context);
    });
  } catch (thrown) {
    throw toRedisError(thrown, context);
  }
}

/** Wraps the methods of a store in `withRedisErrors`. */
export const mapRedisErrors =
  (redis: RedisClient | undefined, options?: RedisCommandOptions) =>
  <Args extends readonly unknown[], Reply>(method: (...args: Args) => Promise<Reply>) =>
  (...args: Args): Promise<Reply> =>
    withRedisErrors(redis, () => method(...args), options);

/** Options for state that an API call depends on. The timeout outlasts a failover. */
export const BEFORE_CALL: RedisCommandOptions = { operation: 'Nothing was called', timeoutMs: 5 * SECOND_MS };

/** Options for state that a delivery depends on. */
export const beforeSending = (state: string): RedisCommandOptions => ({
  operation: `${state} cannot be read or written, so sending stops`,
});
