import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DocketError, type ErrorCode, isRedisOutage } from '../../src/base/error.ts';
import { type LocalRedis, localRedis } from '../../src/demo/local-redis.ts';
import { toRedisError } from '../../src/redis/errors.ts';
import { luaScript, runLuaScript } from '../../src/redis/script.ts';

let server: LocalRedis;
let redis: Redis;
beforeAll(async () => {
  const { REDIS_URL: _, ...env } = process.env;
  server = await localRedis(env);
  redis = new Redis(server.url);
  await redis.set('text', '1');
  await redis.hset('hash', 'field', 'no number');
});
afterAll(async () => {
  redis.disconnect();
  await server.close();
});

const thrownBy = (question: () => Promise<unknown>): Promise<unknown> =>
  question().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );

/** The Docket error for a failed command. */
async function failureOf(question: () => Promise<unknown>): Promise<DocketError> {
  const thrown = await thrownBy(question);
  const error = toRedisError(thrown, { operation: 'The question' });
  if (error instanceof DocketError) return error;
  throw new Error('the failure has no code of ours', { cause: thrown });
}

/** Runs the command while the server has this setting. */
const setTo = (name: string, value: string, before: string) => async (question: () => Promise<DocketError>) => {
  await redis.config('SET', name, value);
  try {
    return await question();
  } finally {
    await redis.config('SET', name, before);
  }
};
/** Runs the command while the server is a replica of a missing master. */
const asReplica = async (question: () => Promise<DocketError>) => {
  await redis.replicaof('127.0.0.1', 1);
  try {
    return await question();
  } finally {
    await redis.replicaof('NO', 'ONE');
  }
};
/** Runs the command as a user without the permission for HSET. */
const asReader = async (question: () => Promise<DocketError>) => {
  await redis.call('ACL', 'SETUSER', 'default', '-hset');
  try {
    return await question();
  } finally {
    await redis.call('ACL', 'SETUSER', 'default', '+hset');
  }
};
const asItIs = (question: () => Promise<DocketError>) => question();

const write = () => redis.hset('new', 'field', 'value');
const script = (lua: string, key: string) => () => runLuaScript(redis, luaScript(lua), [key], ['s3cret']);
const writing = script("return redis.call('HSET', KEYS[1], 'field', 'value')", 'new');

type Case = readonly [
  what: string,
  when: (question: () => Promise<DocketError>) => Promise<DocketError>,
  question: () => Promise<unknown>,
  code: ErrorCode,
  retryable: boolean,
  where: string,
];

test.each<Case>([
  ['is full', setTo('maxmemory', '1', '0'), write, 'redis.out_of_memory', true, 'REDIS_URL'],
  ['is full when a script writes', setTo('maxmemory', '1', '0'), writing, 'redis.out_of_memory', true, 'REDIS_URL'],
  ['has too few replicas', setTo('min-replicas-to-write', '1', '0'), write, 'redis.unwritable', true, 'REDIS_URL'],
  ['is a replica', asReplica, writing, 'redis.unreachable', true, 'REDIS_URL'],
  ['denies the write to the user', asReader, write, 'redis.unauthorized', true, 'REDIS_URL'],
  ['has a text instead of a hash', asItIs, () => redis.hset('text', 'a', 'b'), 'redis.wrong_type', false, 'text'],
  [
    'has a text where a script expects a hash',
    asItIs,
    script("return redis.call('HSET', KEYS[1], 'field', ARGV[1])", 'text'),
    'redis.wrong_type',
    false,
    'text',
  ],
  [
    'has a value that a script does not expect',
    asItIs,
    script("return redis.call('HINCRBY', KEYS[1], 'field', 1)", 'hash'),
    'redis.script_failed',
    false,
    'hash',
  ],
  ['runs a script with a defect', asItIs, script('return nothing.at.all', 'new'), 'redis.script_failed', false, 'new'],
])('a Redis that %s gives its own error and next step', async (_, when, question, code, retryable, where) => {
  const error = await when(() => failureOf(question));
  expect(error).toMatchObject({ code, retryable, where, expected: expect.any(String), next: expect.any(String) });
  expect(isRedisOutage(error)).toBe(retryable);
  // The error has the message of Redis and the key, but no arguments of the command.
  expect(error.got).toBe(error.cause instanceof Error ? error.cause.message : undefined);
  expect(JSON.stringify(error)).not.toContain('s3cret');
});

test('messages of older and newer servers are mapped to the same error codes', () => {
  const reply = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' });
  const report = (message: string) => {
    const error = toRedisError(reply(message));
    return error instanceof DocketError ? error.code : undefined;
  };
  expect(report('MISCONF Redis is configured to save RDB snapshots, but it cannot persist on disk.')).toBe(
    'redis.unwritable',
  );
  expect(
    report(
      "ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed when used memory > 'maxmemory'.",
    ),
  ).toBe('redis.out_of_memory');
  expect(report('LOADING Redis is loading the dataset in memory')).toBe('redis.unreachable');
  expect(report('BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.')).toBe(
    'redis.unreachable',
  );
  expect(report("ERR unknown command 'nosuch', with args beginning with: ")).toBeUndefined();
});

test('each kind of failure has its own next step', async () => {
  const cases: readonly Case[] = [
    ['', setTo('maxmemory', '1', '0'), write, 'redis.out_of_memory', true, ''],
    ['', setTo('min-replicas-to-write', '1', '0'), write, 'redis.unwritable', true, ''],
    ['', asReplica, write, 'redis.unreachable', true, ''],
    ['', asReader, write, 'redis.unauthorized', true, ''],
    ['', asItIs, () => redis.hset('text', 'a', 'b'), 'redis.wrong_type', false, ''],
    ['', asItIs, script('return nothing.at.all', 'new'), 'redis.script_failed', false, ''],
    ['', asItIs, () => Promise.reject(new Error('Connection is closed.')), 'redis.unreachable', true, ''],
  ];
  const next = new Set<string | undefined>();
  for (const [, when, question] of cases) next.add((await when(() => failureOf(question))).next);
  expect(next.size).toBe(cases.length);
});

test('errors that do not come from Redis are unchanged', () => {
  const defect = new TypeError('x is not a function');
  expect(toRedisError(defect)).toBe(defect);
  expect(toRedisError('a word')).toBe('a word');
  const ours = new DocketError('run.not_found', 'Gone.');
  expect(toRedisError(ours)).toBe(ours);
});
