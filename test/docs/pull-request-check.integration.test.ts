import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { program } from '../support/debian.ts';
import { jobsFolder, ORG, REPORT } from '../support/jobs-folder.ts';

const run = promisify(execFile);
const actionSchema = z.object({
  inputs: z.record(z.string(), z.object({ default: z.string().optional(), required: z.boolean().optional() })),
  runs: z.object({ steps: z.array(z.object({ name: z.string().optional(), run: z.string().optional() })) }),
});
const readAction = async () => actionSchema.parse(parse(await readFile('deploy/github/action.yml', 'utf8')));

beforeAll(async () => void (await program('git', 'git')));

/** A clone with the changes of a pull request, and stand-ins for `npx` and `gh` of a GitHub runner. */
async function pullRequest(files: Readonly<Record<string, string>>) {
  const upstream = dirname(await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT }));
  const git = (folder: string, ...args: readonly string[]) =>
    run('git', ['-C', folder, '-c', 'user.name=Ada', '-c', 'user.email=ada@acme.example', ...args]);
  await git(upstream, 'init', '--quiet', '--initial-branch=main');
  await git(upstream, 'add', 'jobs');
  await git(upstream, 'commit', '--quiet', '--message', 'Add the reports');
  const [clone, bin] = [join(upstream, 'clone'), join(upstream, 'bin')];
  await run('git', ['clone', '--quiet', '--depth=1', `file://${upstream}`, clone]);
  for (const [name, text] of Object.entries(files)) await writeFile(join(clone, 'jobs', name), text);
  await git(clone, 'commit', '--quiet', '--all', '--message', 'Change the reports');
  await mkdir(bin);
  const comment = join(upstream, 'comment.md');
  const main = resolve('dist/main.js');
  for (const [name, script] of [
    // `npx --yes docket@0.3.0 …`
    [
      'npx',
      `[ "$2" = docket@0.3.0 ] || [ "$1" = docket ] || exit 9\n[ "$1" = docket ] || shift\nshift\nexec "${process.execPath}" "${main}" "$@"`,
    ],
    ['gh', `while [ $# -gt 1 ]; do shift; done\ncp "$1" "${comment}"`],
  ] as const) {
    await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(bin, name), 0o755);
  }
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: upstream, VERSION: '0.3.0', JOBS: 'jobs' };
  const shell = (script: string, more: NodeJS.ProcessEnv = {}) =>
    run('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], {
      cwd: clone,
      env: { ...env, DOCKET_JOBS: 'jobs', RUNNER_TEMP: upstream, ...more },
    }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
    );
  return { upstream, clone, git, shell, comment };
}

test('the action writes a changed recipient into its comment and the job summary', async () => {
  const { runs } = await readAction();
  const [check = '', show = ''] = runs.steps.flatMap(({ run: script }) => script ?? []);
  const { upstream, shell, comment } = await pullRequest({
    'acme/weekly.yaml': REPORT.replace('lead@acme.example', 'boss@acme.example'),
  });
  expect(await shell(check)).toMatchObject({ code: 0, stdout: '' });
  const summary = join(upstream, 'summary.md');
  const shown = { BASE: 'main', PULL_REQUEST: '7', COMMENT: 'true', GITHUB_STEP_SUMMARY: summary };
  expect(await shell(show, shown)).toMatchObject({ code: 0 });
  const text = await readFile(comment, 'utf8');
  expect(text).toContain('`+boss@acme.example -lead@acme.example`');
  expect(await readFile(summary, 'utf8')).toBe(text);
});

test('the action fails a broken definition at its line, and the comment names the line', async () => {
  const { runs } = await readAction();
  const [check = '', show = ''] = runs.steps.flatMap(({ run: script }) => script ?? []);
  const { upstream, shell, comment } = await pullRequest({
    'acme/weekly.yaml': REPORT.replace('previous_week', 'last_weak'),
  });
  const { code, stdout } = await shell(check);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^::error file=jobs\/acme\/weekly\.yaml,line=5,col=9,/m);
  const shown = { BASE: 'main', PULL_REQUEST: '7', COMMENT: 'true', GITHUB_STEP_SUMMARY: join(upstream, 'summary.md') };
  expect(await shell(show, shown)).toMatchObject({ code: 0 });
  expect(await readFile(comment, 'utf8')).toContain('jobs/acme/weekly.yaml:5:9');
});

test('the pre-commit hook refuses a broken definition, and ignores other files', async () => {
  const { clone, git, shell } = await pullRequest({ 'acme/weekly.yaml': `${REPORT}# edited\n` });
  const hook = join(clone, '.git/hooks/pre-commit');
  await writeFile(hook, await readFile('deploy/github/pre-commit'));
  await chmod(hook, 0o755);
  const commit = 'git -c user.name=Ada -c user.email=ada@acme.example commit --quiet --message Edit';
  await writeFile(join(clone, 'jobs/acme/weekly.yaml'), REPORT.replace('previous_week', 'last_weak'));
  await writeFile(join(clone, 'notes.txt'), 'x');
  await git(clone, 'add', 'notes.txt');
  expect(await shell(commit)).toMatchObject({ code: 0 });
  await git(clone, 'add', 'jobs');
  expect(await shell(commit)).toMatchObject({ code: 1 });
  await writeFile(join(clone, 'jobs/acme/weekly.yaml'), REPORT);
  await git(clone, 'add', 'jobs');
  expect(await shell(commit)).toMatchObject({ code: 0 });
});
