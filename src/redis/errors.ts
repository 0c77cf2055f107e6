import { DocketError, type ErrorCode, errorMessage } from '../base/error.ts';
import { type Redact, redactUntrusted } from '../base/secrets/redactor.ts';

/** What a reply of Redis means for whoever reads it. */
interface RedisErrorMapping {
  readonly code: ErrorCode;
  /** After the server's name. */
  readonly summary: string;
  readonly expected: string;
  readonly next: string;
}

const RUNS_RESUME = 'runs go on where they stopped.';

/**
 * Error replies, the first one that fits. Redis 7 begins a reply with its code and names the script at its end; before,
 * an error within a script began with `ERR Error running script` and had the code further on.
 */
const REPLY_MAPPINGS: readonly (readonly [reply: RegExp, meaning: RedisErrorMapping])[] = [
  [
    /\bOOM\b/,
    {
      code: 'redis.out_of_memory',
      summary: 'is out of memory and accepts no writes.',
      expected: 'memory below its maxmemory',
      next: `Raise maxmemory, or free memory: \`redis-cli --memkeys\` lists the largest keys. Keep maxmemory-policy noeviction; ${RUNS_RESUME}`,
    },
  ],
  [
    /\bWRONGTYPE\b/,
    {
      code: 'redis.wrong_type',
      summary: 'holds a value of another type under a key of Docket.',
      expected: 'a key that only Docket writes',
      next: 'Find out who else writes to this Redis under the same prefix (`redis-cli type <key>`), then delete the key and trigger the report again.',
    },
  ],
  [
    /\b(?:NOAUTH|WRONGPASS|invalid (?:username-)?password)\b/,
    {
      code: 'redis.unauthorized',
      summary: 'rejected the credentials.',
      expected: 'the user and the password of this Redis',
      next: `Correct the user and the password in REDIS_URL and restart Docket; ${RUNS_RESUME}`,
    },
  ],
  [
    /\bNOPERM\b/,
    {
      code: 'redis.unauthorized',
      summary: 'does not permit the user a command that Docket needs.',
      expected: 'a user that may run all commands on the keys of Docket',
      next: `Extend the rights of the user (\`ACL SETUSER\`), or name another one in REDIS_URL; ${RUNS_RESUME}`,
    },
  ],
  [
    /\bMISCONF\b/,
    {
      code: 'redis.unwritable',
      summary: 'accepts no writes because it cannot write to its disk.',
      expected: 'a Redis that can save its data',
      next: `Look at the log of Redis and at the free space on its disk; ${RUNS_RESUME}`,
    },
  ],
  [
    /\bNOREPLICAS\b/,
    {
      code: 'redis.unwritable',
      summary: 'accepts no writes because it has too few replicas.',
      expected: 'as many replicas as its min-replicas-to-write asks for',
      next: `Start the replicas, or lower min-replicas-to-write; ${RUNS_RESUME}`,
    },
  ],
  [
    /\bREADONLY\b/,
    {
      code: 'redis.unreachable',
      summary: 'is a read-only replica.',
      expected: 'the master',
      next: 'Wait for the failover to end. If it lasts, point REDIS_URL to the master, or to the Sentinels that know it.',
    },
  ],
  [
    /\b(?:LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN)\b/,
    {
      code: 'redis.unreachable',
      summary: 'is not ready.',
      expected: 'a server that has loaded its data and a Cluster or replica with its master',
      next: `Wait until it has started or failed over (\`redis-cli info\` says what it is doing); ${RUNS_RESUME}`,
    },
  ],
  [
    /\b(?:BUSY|UNKILLABLE)\b/,
    {
      code: 'redis.unreachable',
      summary: 'is busy with a script that does not end.',
      expected: 'a server that answers',
      next: `Find out whose script it is (\`redis-cli slowlog get\`) and end it with \`redis-cli script kill\`; ${RUNS_RESUME}`,
    },
  ],
  [
    /\buser_script\b|\bscript: [0-9a-f]{40}\b|Error (?:running|compiling) script/,
    {
      code: 'redis.script_failed',
      summary: 'stopped a script with an error.',
      expected: 'values that only Docket writes, and a server with all commands of Redis 6.2',
      next: 'Find out who else writes to this Redis under the same prefix; if nobody does, report this as a defect of Docket.',
    },
  ],
];

const UNREACHABLE: RedisErrorMapping = {
  code: 'redis.unreachable',
  summary: 'cannot be reached.',
  expected: 'a Redis or Valkey server that answers',
  next: 'Start the server (`redis-server --appendonly yes`), or point REDIS_URL to one that runs.',
};

// What ioredis and the socket say when the server is away.
const CONNECTION_ERROR =
  /Stream isn't writeable|Connection is closed|Command timed out|max retries per request|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ClusterAllFailed|Cluster isn't ready|Cluster is ended|startup nodes|slots cache|Too many Cluster redirections|sentinels? are unreachable|Socket timeout/i;

export interface RedisErrorContext {
  /** The server by host and port, never with its credentials; `Redis` when absent. */
  readonly server?: string;
  /** What could not be done for it, e.g. `The ledger cannot be asked`. */
  readonly operation?: string;
  /** Takes the password out of what the server says; only needed where it was just told it. */
  readonly redact?: Redact;
}

/**
 * What a question to Redis threw, as an error for a person. A server that is away, full, read-only or not ours to use, a
 * key of another type and a script that failed have each a code and a next step of their own. Anything else is returned
 * as it is: it is not Redis that says it, or a defect of ours.
 */
export function toRedisError(thrown: unknown, context: RedisErrorContext = {}): unknown {
  if (thrown instanceof DocketError || !(thrown instanceof Error)) return thrown;
  const meaning = classifyError(thrown);
  return meaning === undefined ? thrown : createRedisError(meaning, thrown, context);
}

/** Redis cannot be reached, because of this: for what is known to be the connection's. */
export const redisUnreachable = (cause: unknown, context: RedisErrorContext = {}): DocketError =>
  createRedisError(UNREACHABLE, cause, context);

function classifyError(thrown: Error): RedisErrorMapping | undefined {
  const reply = replyMessage(thrown);
  const known = reply === undefined ? undefined : REPLY_MAPPINGS.find(([pattern]) => pattern.test(reply))?.[1];
  return known ?? (CONNECTION_ERROR.test(`${thrown.name} ${errorReason(thrown)}`) ? UNREACHABLE : undefined);
}

/** What the server answered; of a Cluster all of whose nodes failed, the last of them. */
function replyMessage(thrown: Error): string | undefined {
  if (thrown.name === 'ReplyError') return thrown.message;
  return 'lastNodeError' in thrown && thrown.lastNodeError instanceof Error ? thrown.lastNodeError.message : undefined;
}

/** The words of an error, or its code where it has none, as an `AggregateError` of several addresses. */
export const errorReason = (thrown: unknown): string => {
  const words = errorMessage(thrown);
  if (words !== '' || !(thrown instanceof Error)) return words;
  return 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : thrown.name;
};

function createRedisError(
  { code, summary, expected, next }: RedisErrorMapping,
  cause: unknown,
  { server = 'Redis', operation, redact = (text) => text }: RedisErrorContext,
) {
  const keys = code === 'redis.wrong_type' || code === 'redis.script_failed' ? commandKeys(cause) : [];
  return new DocketError(code, `${operation === undefined ? '' : `${operation}: `}${server} ${summary}`, {
    where: keys.length === 0 ? 'REDIS_URL' : keys.join(', '),
    expected,
    got: redactUntrusted(errorReason(cause), redact).replace(COMMAND_ARGUMENTS, ''),
    next,
    cause,
  });
}

/** A reply to a command that the server does not know repeats what it was given. */
const COMMAND_ARGUMENTS = /,? with args beginning with:.*$/s;

/** The keys of the command that was refused, as ioredis keeps them with the reply; never its values. */
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

/** Asks Redis; a failure is thrown as `redisError` says, with what could not be asked: then nothing may be sent. */
export async function withRedisErrorContext<T>(what: string, question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (cause) {
    throw toRedisError(cause, { operation: `${what} cannot be asked, and nothing is sent without it` });
  }
}

/** Longer than a failover's pause, shorter than a person's patience. */
const REDIS_TIMEOUT_MS = 5_000;

const NO_CALL_CONTEXT = { operation: 'Nothing was called' } as const;

/**
 * Asks Redis something, within a deadline: no answer is `redis.unreachable`, and each other failure of Redis the error
 * that `redisError` names.
 */
export async function withRedisTimeout<T>(ask: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(redisUnreachable(new Error(`no answer within ${REDIS_TIMEOUT_MS} ms`), NO_CALL_CONTEXT)),
      REDIS_TIMEOUT_MS,
    );
  });
  try {
    return await Promise.race([ask(), late]);
  } catch (cause) {
    throw toRedisError(cause, NO_CALL_CONTEXT);
  } finally {
    clearTimeout(timer);
  }
}
