import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { RECIPE_NAMES, RECIPES } from '../../../../src/cli/recipes/recipe.ts';
import { type Sandbox, startSandbox } from '../../../../src/sandbox/sandbox.ts';
import { keyOf } from '../../../support/fetch-harness.ts';
import { jobsFolder } from '../../../support/jobs-folder.ts';
import { runCommand } from '../../../support/run-command.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ windowMs: 1 });
});
afterAll(() => sandbox.close());

const ORG = `version: 1
org: current
api_key: { env: KEY }
timezone: Europe/Zurich
recipients: { domains: [acme.example], addresses: [lead@acme.example] }
destinations: { folders: [reports] }
`;
const open = async (org = ORG, owner: 'acme' | 'lakeside' = 'acme') => {
  const folder = await jobsFolder({ 'acme/org.yaml': org });
  return { folder, env: { DOCKET_JOBS: folder, COMPLIANCE_API_URL: sandbox.url, KEY: keyOf(sandbox, owner) } };
};
const json = async (args: readonly string[], env: Record<string, string>) => {
  const { code, stdout } = await runCommand([...args, '--json'], { env });
  return { code, document: JSON.parse(stdout) };
};

describe('the approvers of a new report', () => {
  const approvalOf = async (org: string) => {
    const { env } = await open(org);
    const { document } = await json(['new', 'acme/pack', '--from', 'approved-pack', '--offline'], env);
    return parse(await readFile(document.written, 'utf8')).approval;
  };

  test('are the people of the organization who can sign in, or the owner', async () => {
    const people = 'people: { mlro: { tokens: [ann] }, guest: {}, head: { accounts: [bob@acme.example] } }\n';
    expect(await approvalOf(ORG + people)).toEqual({ by: ['mlro', 'head'], need: 1, four_eyes: true, within: '2bd' });
    expect(await approvalOf(ORG)).toMatchObject({ by: ['lead@acme.example'] });
  });
});

describe.each(RECIPE_NAMES)('a new report from %s', (recipe) => {
  test.each(['acme', 'lakeside'] as const)('passes check against the catalog of %s', async (owner) => {
    const { folder, env } = await open(ORG, owner);
    const { code, document } = await json(['new', `acme/${recipe}`, '--from', recipe], env);
    expect(code).toBe(0);
    expect(document).toMatchObject({
      written: join(folder, 'acme', `${recipe}.yaml`),
      report: `acme/${recipe}`,
      recipe,
    });
    expect(document.catalog.registry_version).toEqual(expect.any(Number));
    const checked = await json(['check'], env);
    expect(checked).toMatchObject({ code: 0, document: { faults: [], warnings: [], not_checked: [] } });
    const report = parse(await readFile(document.written, 'utf8'));
    expect(report).toMatchObject({ title: RECIPES[recipe].title, owner: 'lead@acme.example' });
    expect(report.sections.map(({ id }: { id: string }) => id)).toEqual(document.sections);
    const requested = new Set(report.sections.flatMap(({ metrics }: { metrics: string[] }) => metrics));
    for (const id of document.left_out) expect(requested).not.toContain(id);
  });

  test('passes check without a catalog, and with weeks that begin on Sunday', async () => {
    const { env } = await open(`${ORG}week_start: SUN\n`);
    const { code, document } = await json(
      ['new', 'acme/mine', '--from', recipe, '--offline', '--title', 'A: "b"'],
      env,
    );
    expect(code).toBe(0);
    expect(document.catalog).toBeNull();
    expect(parse(await readFile(document.written, 'utf8')).title).toBe('A: "b"');
    expect(await json(['check'], env)).toMatchObject({ code: 0, document: { faults: [] } });
  });
});

test('new overwrites no file', async () => {
  const { folder, env } = await open();
  const args = ['new', 'acme/backlog', '--from', 'backlog', '--offline'];
  await runCommand(args, { env });
  const before = await readFile(join(folder, 'acme/backlog.yaml'), 'utf8');
  const again = await json([...args, '--title', 'Other'], env);
  expect(again).toMatchObject({ code: 2, document: { error: { code: 'usage.invalid' } } });
  expect(await readFile(join(folder, 'acme/backlog.yaml'), 'utf8')).toBe(before);
});

test.each([
  ['a recipient that org.yaml does not allow', ['acme/x', '--to', 'lead@evil.example'], ORG, 'usage.invalid'],
  ['no recipient', ['acme/x'], ORG.replace(', addresses: [lead@acme.example]', ''), 'usage.invalid'],
  ['an unknown organization', ['rival/x'], ORG, 'definition.not_found'],
  ['the name of a settings file', ['acme/targets'], ORG, 'usage.invalid'],
  ['a name that leaves the folder', ['acme/../x'], ORG, 'usage.invalid'],
  ['an organization with errors', ['acme/x'], ORG.replace('Europe/Zurich', 'Mars'), 'definition.invalid'],
])('new writes nothing for %s', async (_, args, org, code) => {
  const { env } = await open(org);
  const { document } = await json(['new', ...args, '--from', 'export', '--offline'], env);
  expect(document.error.code).toBe(code);
});
