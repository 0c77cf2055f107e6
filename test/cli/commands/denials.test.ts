import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type LocalRedis, localRedis } from '../../../src/demo/local-redis.ts';
import { ORG, REPORT } from '../../support/jobs-folder.ts';
import { runCommand } from '../../support/run-command.ts';

let redis: LocalRedis;
let folder: string;
beforeAll(async () => {
  redis = await localRedis({ PATH: process.env.PATH });
  folder = await mkdtemp(join(tmpdir(), 'docket-deny-'));
  await mkdir(join(folder, 'jobs', 'acme'), { recursive: true });
  await writeFile(join(folder, 'jobs', 'acme', 'org.yaml'), ORG);
  await writeFile(join(folder, 'jobs', 'acme', 'weekly.yaml'), REPORT);
});
afterAll(async () => {
  await redis.close();
  await rm(folder, { recursive: true, force: true });
});

const command = (...args: readonly string[]) =>
  runCommand(args, {
    env: {
      REDIS_URL: redis.url,
      DOCKET_JOBS: join(folder, 'jobs'),
      DOCKET_ARCHIVE: pathToFileURL(join(folder, 'archive')).href,
      LOG_LEVEL: 'error',
    },
    cwd: folder,
  });
const deniedSchema = z.object({ denied: z.array(z.object({ name: z.string(), by: z.string(), reason: z.string() })) });
const deniedBy = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await command('deny', ...args, '--json');
  expect(code, stderr).toBe(0);
  return deniedSchema.parse(JSON.parse(stdout)).denied;
};

test('deny adds, lists and removes addresses, in any spelling', async () => {
  const entry = { name: 'ana@xn--mnchen-3ya.example', by: 'hr', reason: 'left' };
  expect(await deniedBy('ANA@München.example', '--reason', 'left', '--by', 'hr')).toEqual([entry]);
  // The first reason is kept.
  expect(await deniedBy('ana@münchen.EXAMPLE', '--reason', 'other')).toEqual([]);
  await writeFile(join(folder, 'leavers.csv'), '\uFEFFaddress;reason\nbob@acme.example;retired\nbeta.example;\n');
  expect(await deniedBy('--file', 'leavers.csv', '--reason', 'November', '--by', 'hr')).toEqual([
    { name: 'bob@acme.example', by: 'hr', reason: 'retired' },
    { name: 'beta.example', by: 'hr', reason: 'November' },
  ]);
  const found = await command('recipients', '--of', 'X@BETA.example', '--json');
  expect(JSON.parse(found.stdout)).toMatchObject({ denied: { name: 'beta.example' }, deliveries: [] });
  expect(await deniedBy('Ana@xn--mnchen-3ya.example', '--remove', '--reason', 'back')).toEqual([entry]);
  expect((await deniedBy()).map(({ name }) => name)).toEqual(['bob@acme.example', 'beta.example']);
});

test.each([
  ['a missing reason', ['ana@acme.example']],
  ['a reason of two lines', ['ana@acme.example', '--reason', 'left\nlast week']],
  ['a missing name to remove', ['--remove', '--reason', 'r']],
  ['addresses together with a file', ['ana@acme.example', '--file', 'leavers.csv', '--reason', 'r']],
  ['a missing file', ['--file', 'nobody.csv', '--reason', 'r']],
  ['an address with a name', ['Ana <ana@acme.example>', '--reason', 'r']],
  ['a group of addresses', ['Group: ana@acme.example;', '--reason', 'r']],
  ['one invalid address of two', ['bob@acme.example', 'ana@localhost', '--reason', 'r']],
])('deny changes nothing for %s', async (_, args) => {
  const before = await deniedBy();
  const { code, stderr } = await command('deny', ...args);
  expect([code, stderr]).toEqual([2, expect.stringContaining('usage.invalid')]);
  expect(await deniedBy()).toEqual(before);
});

test.each(['acme.example', 'ana', 'Ana <ana@acme.example>', ' '])(
  'recipients --of rejects %j instead of finding nothing',
  async (of) => {
    const { code, stderr } = await command('recipients', '--of', of);
    expect([code, stderr]).toEqual([2, expect.stringContaining('usage.invalid')]);
  },
);

test('marks a person who calls themselves docket, to tell them from Docket’s own decisions', async () => {
  const [entry] = await deniedBy('cy@acme.example', '--reason', 'left', '--by', 'docket');
  expect(entry?.by).toBe('docket (shell)');
});

test('finds the lines of the local definitions that name an address', async () => {
  const { code, stdout } = await command('recipients', '--of', ' LEAD@acme.example ', '--json');
  expect(code).toBe(0);
  const mentions = z.object({ mentions: z.array(z.object({ report: z.string().nullable(), field: z.string() })) });
  expect(mentions.parse(JSON.parse(stdout)).mentions.map(({ field }) => field)).toContain('recipients.domains[0]');
});
