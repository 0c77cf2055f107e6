import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { parseHelpText } from '../../src/cli/help-text.ts';
import { collectLeaves } from '../../src/cli/reference.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { createTestProgram, runCommand } from '../support/run-command.ts';
import { shellWords } from '../support/shell-words.ts';

const leaves = collectLeaves(createTestProgram());
const takesJson = leaves.filter(({ command }) => command.options.some(({ long }) => long === '--json'));
/** `start` only logs; `completion` prints a script. */
const WITHOUT_JSON = ['docket start', 'docket completion'];

const errorSchema = z.strictObject({
  error: z.strictObject({
    code: z.string().regex(/^[a-z]+\.[a-z_]+$/),
    message: z.string(),
    expected: z.string().optional(),
    got: z.string().optional(),
    where: z.string().optional(),
    next: z.string().optional(),
  }),
});

describe('--json', () => {
  let sandbox: Sandbox;
  let folder: string;
  let env: Record<string, string>;

  beforeAll(async () => {
    sandbox = await startSandbox();
    folder = await mkdtemp(join(tmpdir(), 'docket-json-'));
    const tokens = join(folder, 'tokens.yaml');
    await writeFile(tokens, '[]\n');
    env = {
      COMPLIANCE_API_URL: sandbox.url,
      DEMO_API_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
      REDIS_URL: inject('redisUrl'),
      DOCKET_ARCHIVE: `file://${folder}/archive`,
      DOCKET_ADMIN_TOKENS: tokens,
    };
  });
  afterAll(async () => {
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('exists for every command that prints a result', () => {
    const without = leaves.filter((leaf) => !takesJson.includes(leaf)).map(({ name }) => name);
    expect(without.sort()).toEqual([...WITHOUT_JSON].sort());
  });

  test.each([
    ['schema'],
    ['schema org'],
    ['check --offline'],
    ['catalog --org demo'],
    ['explain demo/weekly-kpi'],
    ['diff'],
    ['schedule'],
    ['pause'],
    ['pause --history'],
    ['runs'],
    ['deliveries'],
    ['deliveries --unknown'],
    ['archive verify'],
    ['budget'],
    ['tokens'],
  ])('prints one document on stdout and nothing else: docket %s', async (line) => {
    const { code, stdout, stderr } = await runCommand([...line.split(' '), '--json'], { env });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(JSON.parse(stdout)).toBeTypeOf('object');
  });

  test('prints wrong arguments as one document, and as text on stderr', async () => {
    for (const [args, near] of [
      [['check', '--offlin', '--json'], '--offline'],
      [['chek', '--json'], 'check'],
      [['runs', 'shw', 'x', '--json'], 'show'],
      [['explain', 'demo/weekly-kpis', '--json'], 'demo/weekly-kpi'],
    ] as const) {
      const { code, stdout, stderr } = await runCommand(args, { env });
      expect(code).toBe(2);
      expect(errorSchema.parse(JSON.parse(stdout)).error.expected).toContain(near);
      expect(stderr).toMatch(/^docket: .+\n {2}expected: .+\n/);
      expect(stderr).not.toMatch(/\n {4}at /);
    }
  });

  // `demo` starts a Redis first, and `schema` needs no environment.
  const reads = takesJson.filter(({ name }) => name !== 'docket demo' && name !== 'docket schema');
  test.each(reads.map((leaf) => [leaf.name, leaf.command] as const))(
    'prints an invalid environment as one document: %s',
    async (_, command) => {
      const [example = ''] = parseHelpText(command).examples;
      const args = shellWords(example).slice(1);
      const { code, stdout, stderr } = await runCommand([...args, ...(args.includes('--json') ? [] : ['--json'])], {
        env: { ...env, LOG_LEVEL: 'loud' },
      });
      expect(code).toBe(2);
      expect(errorSchema.parse(JSON.parse(stdout)).error.code).toBe('config.invalid');
      expect(stderr).toContain('LOG_LEVEL');
      expect(stderr).not.toMatch(/\n {4}at /);
    },
  );
});
