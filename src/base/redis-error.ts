import { DocketError, type ErrorCode, wordsOf } from './error.ts';
import { foreignText, type Redact } from './redactor.ts';

/** What a reply of Redis means for whoever reads it. */
interface Meaning {
  readonly code: ErrorCode;
  /** After the server's name. */
  readonly says: string;
  readonly expected: string;
  readonly next: string;
}

const BACK_LATER = 'runs go on where they stopped.';

/**
 * Error replies, the first one that fits. Redis 7 begins a reply with its code and names the script at its end; before,
 * an error within a script began with `ERR Error running script` and had the code further on.
 */
const REPLIES: readonly (readonly [reply: RegExp, meaning: Meaning])[] = [
  [
    /\bOOM\b/,
    {
      code: 'redis.out_of_memory',
      says: 'is out of memory and accepts no writes.',
      expected: 'memory below its maxmemory',
      next: `Raise maxmemory, or free memory: \`redis-cli --memkeys\` lists the largest keys. Keep maxmemory-policy noeviction; ${BACK_LATER}`,
    },
  ],
  [
    /\bWRONGTYPE\b/,
    {
      code: 'redis.wrong_type',
      says: 'holds a value of another type under a key of Docket.',
      expected: 'a key that only Docket writes',
      next: 'Find out who else writes to this Redis under the same prefix (`redis-cli type <key>`), then delete the key and trigger the report again.',
    },
  ],
  [
    /\b(?:NOAUTH|WRONGPASS|invalid (?:username-)?password)\b/,
    {
      code: 'redis.unauthorized',
      says: 'rejected the credentials.',
      expected: 'the user and the password of this Redis',
      next: `Correct the user and the password in REDIS_URL and restart Docket; ${BACK_LATER}`,
    },
  ],
  [
    /\bNOPERM\b/,
    {
      code: 'redis.unauthorized',
      says: 'does not permit the user a command that Docket needs.',
      expected: 'a user that may run all commands on the keys of Docket',
      next: `Extend the rights of the user (\`ACL SETUSER\`), or name another one in REDIS_URL; ${BACK_LATER}`,
    },
  ],
  [
    /\bMISCONF\b/,
    {
      code: 'redis.unwritable',
      says: 'accepts no writes because it cannot write to its disk.',
      expected: 'a Redis that can save its data',
      next: `Look at the log of Redis and at the free space on its disk; ${BACK_LATER}`,
    },
  ],
  [
    /\bNOREPLICAS\b/,
    {
      code: 'redis.unwritable',
      says: 'accepts no writes because it has too few replicas.',
      expected: 'as many replicas as its min-replicas-to-write asks for',
      next: `Start the replicas, or lower min-replicas-to-write; ${BACK_LATER}`,
    },
  ],
  [
    /\bREADONLY\b/,
    {
      code: 'redis.unreachable',
      says: 'is a read-only replica.',
      expected: 'the master',
      next: 'Wait for the failover to end. If it lasts, point REDIS_URL to the master, or to the Sentinels that know it.',
    },
  ],
  [
    /\b(?:LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN)\b/,
    {
      code: 'redis.unreachable',
      says: 'is not ready.',
      expected: 'a server that has loaded its data and a Cluster or replica with its master',
      next: `Wait until it has started or failed over (\`redis-cli info\` says what it is doing); ${BACK_LATER}`,
    },
  ],
  [
    /\b(?:BUSY|UNKILLABLE)\b/,
    {
      code: 'redis.unreachable',
      says: 'is busy with a script that does not end.',
      expected: 'a server that answers',
      next: `Find out whose script it is (\`redis-cli slowlog get\`) and end it with \`redis-cli script kill\`; ${BACK_LATER}`,
    },
  ],
  [
    /\buser_script\b|\bscript: [0-9a-f]{40}\b|Error (?:running|compiling) script/,
    {
      code: 'redis.script_failed',
      says: 'stopped a script with an error.',
      expected: 'values that only Docket writes, and a server with all commands of Redis 6.2',
      next: 'Find out who else writes to this Redis under the same prefix; if nobody does, report this as a defect of Docket.',
    },
  ],
];

const AWAY: Meaning = {
  code: 'redis.unreachable',
  says: 'cannot be reached.',
  expected: 'a Redis or Valkey server that answers',
  next: 'Start the server (`redis-server --appendonly yes`), or point REDIS_URL to one that runs.',
};

// What ioredis and the socket say when the server is away.
const NO_CONNECTION =
  /Stream isn't writeable|Connection is closed|Command timed out|max retries per request|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ClusterAllFailed|Cluster isn't ready|Cluster is ended|startup nodes|slots cache|Too many Cluster redirections|sentinels? are unreachable|Socket timeout/i;

export interface RedisContext {
  /** The server by host and port, never with its credentials; `Redis` when absent. */
  readonly server?: string;
  /** What could not be done for it, e.g. `The ledger cannot be asked`. */
  readonly what?: string;
  /** Takes the password out of what the server says; only needed where it was just told it. */
  readonly redact?: Redact;
}

/**
 * What a question to Redis threw, as an error for a person. A server that is away, full, read-only or not ours to use, a
 * key of another type and a script that failed have each a code and a next step of their own. Anything else is returned
 * as it is: it is not Redis that says it, or a defect of ours.
 */
export function redisError(thrown: unknown, context: RedisContext = {}): unknown {
  if (thrown instanceof DocketError || !(thrown instanceof Error)) return thrown;
  const meaning = meaningOf(thrown);
  return meaning === undefined ? thrown : errorOf(meaning, thrown, context);
}

/** Redis cannot be reached, because of this: for what is known to be the connection's. */
export const redisAway = (cause: unknown, context: RedisContext = {}): DocketError => errorOf(AWAY, cause, context);

function meaningOf(thrown: Error): Meaning | undefined {
  const reply = replyIn(thrown);
  const known = reply === undefined ? undefined : REPLIES.find(([pattern]) => pattern.test(reply))?.[1];
  return known ?? (NO_CONNECTION.test(`${thrown.name} ${reasonOf(thrown)}`) ? AWAY : undefined);
}

/** What the server answered; of a Cluster all of whose nodes failed, the last of them. */
function replyIn(thrown: Error): string | undefined {
  if (thrown.name === 'ReplyError') return thrown.message;
  return 'lastNodeError' in thrown && thrown.lastNodeError instanceof Error ? thrown.lastNodeError.message : undefined;
}

/** The words of an error, or its code where it has none, as an `AggregateError` of several addresses. */
export const reasonOf = (thrown: unknown): string => {
  const words = wordsOf(thrown);
  if (words !== '' || !(thrown instanceof Error)) return words;
  return 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : thrown.name;
};

function errorOf(
  { code, says, expected, next }: Meaning,
  cause: unknown,
  { server = 'Redis', what, redact = (text) => text }: RedisContext,
) {
  const keys = code === 'redis.wrong_type' || code === 'redis.script_failed' ? keysIn(cause) : [];
  return new DocketError(code, `${what === undefined ? '' : `${what}: `}${server} ${says}`, {
    where: keys.length === 0 ? 'REDIS_URL' : keys.join(', '),
    expected,
    got: foreignText(reasonOf(cause), redact).replace(ARGUMENTS, ''),
    next,
    cause,
  });
}

/** A reply to a command that the server does not know repeats what it was given. */
const ARGUMENTS = /,? with args beginning with:.*$/s;

/** The keys of the command that was refused, as ioredis keeps them with the reply; never its values. */
function keysIn(thrown: unknown): readonly string[] {
  if (!(thrown instanceof Error && 'command' in thrown)) return [];
  const { command } = thrown;
  if (typeof command !== 'object' || command === null || !('name' in command && 'args' in command)) return [];
  const { name, args } = command;
  if (!Array.isArray(args)) return [];
  const all: readonly unknown[] = args;
  const scripted = name === 'evalsha' || name === 'eval';
  return (scripted ? all.slice(2, 2 + Number(all[1])) : all.slice(0, 1)).map(String);
}
