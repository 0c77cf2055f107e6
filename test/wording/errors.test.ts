import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'vite';
import { expect, test } from 'vitest';
import { DocketError, ERRORS, type ErrorCode, formatError, toDocketError } from '../../src/base/error.ts';
import { httpError } from '../../src/fetch/client/http-error.ts';
import { cancelledError } from '../../src/queue/runs/run-store.ts';
import { redisUnreachable, toRedisError } from '../../src/redis/errors.ts';
import { incompleteError, undeliveredError } from '../../src/run/run-result.ts';

const reply = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' });
const http = (status: number) =>
  httpError(
    {
      status,
      where: 'POST /api/orgs/7/report/',
      header: (name) => (name === 'x-correlation-id' ? 'corr-1' : undefined),
      body: Buffer.alloc(0),
      redact: (text) => text,
    },
    0,
  );
const undelivered = (state: 'unknown' | 'refused' | 'pending', willRetry = false) =>
  undeliveredError(
    [{ id: 'd', target: '0-email', recipient: 'lead@acme.example', state, detail: '550 No such user', at: 0 } as never],
    'run-1',
    willRetry,
  );

const heldPack = undeliveredError(
  [
    {
      delivery: 'd',
      target: 'held:one',
      recipient: 'One',
      state: 'refused',
      detail: 'Nobody is named.',
      messageId: null,
    },
  ],
  'run-1',
);

const INCOMPLETE = { section: 'queue', code: 'rows.truncated', text: 'rows are missing' } as never;

/** Errors whose code or texts are chosen by a function, as a person sees them. */
const EXAMPLES: readonly unknown[] = [
  toDocketError(new TypeError('x is not a function')),
  toDocketError(Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })),
  redisUnreachable(new Error('connect ECONNREFUSED 127.0.0.1:6379'), { server: '127.0.0.1:6379' }),
  ...[
    'WRONGPASS invalid username-password pair or user is disabled.',
    "OOM command not allowed when used memory > 'maxmemory'.",
    'MISCONF Redis is configured to save RDB snapshots, but it is unable to persist to disk.',
    'NOREPLICAS Not enough good replicas to write.',
    'LOADING Redis is loading the dataset in memory',
    'BUSY Redis is busy running a script.',
    "READONLY You can't write against a read only replica.",
    'WRONGTYPE Operation against a key holding the wrong kind of value',
    'ERR user_script:1: attempt to index a nil value script: 0123456789012345678901234567890123456789',
  ].map((message) => toRedisError(reply(message), { server: '127.0.0.1:6379' })),
  ...[301, 401, 403, 404, 408, 422, 429, 503].map(http),
  ...(['unknown', 'refused', 'pending'] as const).map((state) => undelivered(state)),
  undelivered('pending', true),
  heldPack,
  incompleteError('run.incomplete', [INCOMPLETE]),
  incompleteError('run.held', [INCOMPLETE]),
  cancelledError({ by: 'ada', reason: 'wrong recipients', at: 0 }),
];

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

function* nodesIn(value: unknown): Generator<Node> {
  if (Array.isArray(value)) for (const each of value) yield* nodesIn(each);
  else if (isNode(value)) {
    yield value;
    for (const child of Object.values(value)) if (typeof child === 'object') yield* nodesIn(child);
  }
}

/** Codes that are in the source as a variable. */
const VARIABLE: readonly ErrorCode[] = ['run.ambiguous', 'delivery.ambiguous', 'auth.invalid', 'auth.expired'];
const TEXTS = ['expected', 'got', 'where', 'next'];

/** Each `new DocketError('code', message, detail)` of the source, with the expressions of its texts. */
function* constructed(): Generator<{ readonly code: string; readonly text: string }> {
  for (const file of readdirSync('src', { recursive: true, encoding: 'utf8' })) {
    if (!/\.tsx?$/.test(file)) continue;
    const source = readFileSync(join('src', file), 'utf8');
    const show = (node: unknown) =>
      isNode(node) ? source.slice(node.start, node.end).replaceAll(/\s+/g, ' ') : undefined;
    for (const node of nodesIn(parseSync(file, source).program)) {
      if (node.type !== 'NewExpression' || show(node.callee) !== 'DocketError') continue;
      const [code, message, detail] = Array.isArray(node.arguments) ? node.arguments : [];
      if (!isNode(code)) continue;
      const name = code.type === 'Literal' ? String(code.value) : `${show(code)}`;
      const properties = isNode(detail) && Array.isArray(detail.properties) ? detail.properties : [];
      const texts = properties
        .filter((property) => isNode(property) && isNode(property.key) && TEXTS.includes(show(property.key) ?? ''))
        .map((property) => `  ${show(property)}`);
      yield { code: name, text: [`[${name}] ${show(message)}`, ...texts].join('\n') };
    }
  }
}

test('the texts of all errors equal the recorded ones', async () => {
  const examples = EXAMPLES.map((error) => {
    if (!(error instanceof DocketError)) throw error;
    return { code: error.code, text: formatError(error) };
  });
  const texts = [...constructed()];
  const known = new Set([...examples, ...texts].map(({ code }) => code));
  // test/features/accounts/errors.txt has the errors of an OpenID provider.
  const expected = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => !code.startsWith('oidc.'));
  const missing = expected.filter((code) => !known.has(code) && !VARIABLE.includes(code));
  const sorted = texts.map(({ text }) => text).toSorted();
  const document = [
    'As a person sees them',
    '',
    ...examples.map(({ text }) => text),
    '',
    'In the source',
    '',
    ...sorted,
  ];
  await expect(`${document.join('\n')}\n`).toMatchFileSnapshot('errors.txt');
  expect(missing).toEqual([]);
});
