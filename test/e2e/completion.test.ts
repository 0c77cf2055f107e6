import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { type LocalRedis, localRedis } from '../../src/demo/local-redis.ts';
import { DEFAULT_KEY_PREFIX } from '../../src/redis/keys.ts';
import { program } from '../support/debian.ts';
import { typeInto, withDocketOnPath } from '../support/interactive-shell.ts';
import { anOrder, openQueueHarness, type QueueHarness } from '../support/queue-harness.ts';

let shell: Awaited<ReturnType<typeof withDocketOnPath>>;
let redis: LocalRedis;
let harness: QueueHarness;
/** The id of the only held run. */
const HELD = '7cbbba3b767cc2da5a468b293a029af4';
beforeAll(async () => {
  shell = await withDocketOnPath();
  redis = await localRedis({ PATH: process.env.PATH });
  harness = await openQueueHarness(systemClock, DEFAULT_KEY_PREFIX, silentLog, redis.url);
  for (const [id, state] of [
    [HELD, 'held'],
    ['8dcccb4c878dd3eb6b579c3a4b13ab05', 'failed'],
  ] as const) {
    await harness.runs.open(anOrder({ id }));
    await harness.runs.update(id, { state });
  }
});
afterAll(async () => {
  await harness.close();
  await redis.close();
  await shell.close();
});

test('fish completes reports, values after "=", files and ids', async () => {
  const fish = await program('fish', 'fish');
  const requested = [
    'docket explain demo/wee',
    'docket sandbox --limiter=f',
    'docket check READM',
    'docket runs release ',
  ];
  const lines = ['docket completion fish | source', ...requested.map((line) => `complete -C '${line}'`)];
  const { stdout } = await promisify(execFile)(fish, ['--no-config', '-c', lines.join('; ')], {
    env: { ...shell.env, REDIS_URL: redis.url },
  });
  expect(stdout.split('\n').map((line) => line.trim())).toEqual([
    'demo/weekly-kpi',
    '--limiter=fixed',
    'README.md',
    expect.stringMatching(/^7cbbba3b\t.*acme\/weekly/),
    '',
  ]);
});

test('zsh completes reports, values after "=" and ids', async () => {
  const zsh = await program('zsh', 'zsh');
  const setUp = 'PROMPT="ready> "; autoload -Uz compinit; compinit -u -D; source <(docket completion zsh)\n';
  const screen = await typeInto(`${zsh} -f -i`, { ...shell.env, REDIS_URL: redis.url }, [
    { when: /[%#] $/, press: setUp },
    { when: /\nready> $|\rready> $/, press: 'docket explain demo/wee\t' },
    // Clear the line with a key: a shell may swallow an interrupt while it still completes.
    { when: /demo\/weekly-kpi $/, press: '\u0015docket sandbox --limiter=f\t' },
    { when: /--limiter=fixed $/, press: '\u0015docket runs release 7\t' },
    { when: /release 7cbbba3b $/, press: '\u0015exit\n' },
  ]);
  expect(screen).toContain('demo/weekly-kpi ');
  expect(screen).toContain('--limiter=fixed ');
});

test('bash completes ids with descriptions, and none while Redis is unreachable', async () => {
  const completed = async (type: string, url: string): Promise<readonly string[]> => {
    const script = `source <(docket completion bash)
COMP_WORDS=(docket runs show ''); COMP_CWORD=3; COMP_TYPE=${type}; _docket; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const env = { ...shell.env, REDIS_URL: url };
    const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', script], { env });
    return stdout.trim().split('\n');
  };
  expect([...(await completed('9', redis.url))].sort()).toEqual(['7cbbba3b', '8dcccb4c', 'last']);
  // 63 means the second Tab.
  expect(await completed('63', redis.url)).toContainEqual(expect.stringMatching(/^7cbbba3b {2}held: acme\/weekly /));
  expect(await completed('9', 'redis://127.0.0.1:1')).toEqual(['last']);
});
