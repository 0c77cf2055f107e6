import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { program } from '../../../support/debian.ts';
import { jobsFolder, ORG, REPORT } from '../../../support/jobs-folder.ts';
import { runCommand } from '../../../support/run-command.ts';

const run = promisify(execFile);
beforeAll(async () => void (await program('git', 'git')));

/** A repository with these definitions in `jobs/`, committed. */
async function repository(files: Readonly<Record<string, string>>) {
  const root = dirname(await jobsFolder(files));
  const git = (...args: readonly string[]) =>
    run('git', ['-C', root, '-c', 'user.name=Ada', '-c', 'user.email=ada@acme.example', ...args]);
  await git('init', '--quiet');
  await git('add', 'jobs');
  await git('commit', '--quiet', '--message', 'Add the reports');
  const docket = (...args: readonly string[]) => runCommand(args, { env: { DOCKET_JOBS: 'jobs' }, cwd: root });
  const edit = (name: string, text: string) => writeFile(join(root, 'jobs', name), text);
  return { root, git, docket, edit };
}

const sarifSchema = z.object({
  version: z.literal('2.1.0'),
  runs: z.tuple([
    z.object({
      tool: z.object({ driver: z.object({ name: z.string(), rules: z.array(z.object({ id: z.string() })) }) }),
      results: z.array(
        z.object({
          ruleId: z.string(),
          level: z.enum(['error', 'warning']),
          message: z.object({ text: z.string() }),
          locations: z.tuple([
            z.object({
              physicalLocation: z.object({
                artifactLocation: z.object({ uri: z.string() }),
                region: z.object({ startLine: z.number(), startColumn: z.number() }),
              }),
            }),
          ]),
        }),
      ),
    }),
  ]),
});

describe('a broken definition', () => {
  const BROKEN = REPORT.replace('previous_week', '"last, week: 100%"');
  const line = BROKEN.split('\n').findIndex((each) => each.startsWith('period:')) + 1;

  test('is annotated at its line in a GitHub pull request', async () => {
    const { docket } = await repository({
      'acme/org.yaml': ORG,
      'acme/weekly.yaml': BROKEN,
      'acme/a, b.yaml': REPORT,
    });
    const { code, stdout } = await docket('check', '--offline', '--format', 'github');
    expect(code).toBe(1);
    const [name, value, ...others] = stdout.split('\n').filter((each) => each.startsWith('::error '));
    expect(others).toEqual([]);
    // A comma or colon would end a property, and a percent sign would begin an escape.
    expect(name).toMatch(/^::error file=jobs\/acme\/a%2C b\.yaml,line=1,col=1,title=file\.invalid::/);
    expect(value).toMatch(new RegExp(`^::error file=jobs/acme/weekly\\.yaml,line=${line},col=9,[^:]*::`));
    expect(value).toContain('got "last, week: 100%25"');
  });

  test('is a SARIF result with its place and rule', async () => {
    const { docket } = await repository({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': BROKEN });
    const { code, stdout } = await docket('check', '--offline', '--format', 'sarif');
    expect(code).toBe(1);
    const [{ tool, results }] = sarifSchema.parse(JSON.parse(stdout)).runs;
    expect(results.filter(({ level }) => level === 'error')).toMatchObject([
      {
        ruleId: 'field.invalid',
        locations: [
          {
            physicalLocation: {
              artifactLocation: { uri: 'jobs/acme/weekly.yaml' },
              region: { startLine: line, startColumn: 9 },
            },
          },
        ],
      },
    ]);
    expect(tool.driver.rules.map(({ id }) => id)).toEqual([...new Set(results.map(({ ruleId }) => ruleId))].sort());
  });
});

describe('a comment on a pull request', () => {
  test('shows changed recipients and slots, and new and removed reports, without Redis', async () => {
    const { root, docket, edit } = await repository({
      'acme/org.yaml': ORG,
      'acme/weekly.yaml': REPORT,
      'acme/gone.yaml': REPORT,
      'acme/same.yaml': REPORT,
    });
    await rm(join(root, 'jobs/acme/gone.yaml'));
    await edit('acme/new.yaml', REPORT);
    await edit(
      'acme/weekly.yaml',
      REPORT.replace('lead@acme.example', 'boss@acme.example').replace('0 8 * * MON', '0 9 * * MON'),
    );
    const { code, stdout } = await docket('diff', '--base', 'HEAD', '--format', 'markdown');
    expect(code).toBe(0);
    const reports = stdout.split('\n\n**').slice(1);
    expect(reports.map((text) => /^`(.*?)`\*\* is (\w+)/.exec(text)?.slice(1))).toEqual([
      ['acme/gone', 'removed'],
      ['acme/new', 'added'],
      ['acme/weekly', 'changed'],
    ]);
    expect(reports[2]).toContain('`+boss@acme.example -lead@acme.example`');
    expect(reports[2]).toMatch(/next slots: `\S+T07:00Z.* → \S+T08:00Z/);
    const json = await docket('diff', '--base', 'HEAD', '--json');
    expect(JSON.parse(json.stdout).changes.map(({ change }: { change: string }) => change)).toEqual([
      'removed',
      'added',
      'changed',
    ]);
  });

  test('escapes markup in a definition', async () => {
    const { docket, edit } = await repository({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
    await edit('acme/weekly.yaml', REPORT.replace('path: out', 'path: "out` <img src=x> `"'));
    const { stdout } = await docket('diff', '--base', 'HEAD', '--format', 'markdown');
    const targets = stdout.split('\n').find((each) => each.startsWith('- targets:'));
    expect(targets?.match(/`/g)).toHaveLength(2);
  });

  test('shows every report as added if the revision has no such folder', async () => {
    const { git, docket, root } = await repository({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
    await git('checkout', '--quiet', '--orphan', 'empty');
    await git('rm', '--quiet', '-r', '--cached', 'jobs');
    await git('commit', '--quiet', '--allow-empty', '--message', 'Begin');
    const { code, stdout } = await docket('diff', '--base', 'empty', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout).changes).toMatchObject([{ report: 'acme/weekly', change: 'added' }]);
    // Neither the index nor the working tree changed.
    const { stdout: status } = await run('git', ['-C', root, 'status', '--porcelain']);
    expect(status).toBe('?? jobs/\n');
  });

  test.each(['missing', '--output=x', ''])('is not made for the revision %j', async (revision) => {
    const { docket } = await repository({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
    const { code, stdout, stderr } = await docket('diff', `--base=${revision}`);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('[usage.invalid]');
  });

  test('is an error with a remedy outside of a repository', async () => {
    const root = dirname(await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT }));
    const { code, stderr } = await runCommand(['diff', '--base', 'HEAD'], { env: { DOCKET_JOBS: 'jobs' }, cwd: root });
    expect(code).toBe(2);
    expect(stderr).toMatch(/not a git repository[\s\S]*\n {2}do:/);
  });
});
