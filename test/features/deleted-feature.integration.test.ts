import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { weeklyJobs } from './weekly-jobs.ts';

const run = promisify(execFile);
const names = (await readdir('src/features', { withFileTypes: true }))
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** Removes a feature: its folder, and its imports in the lists of `src/features/`. */
async function deleteFeature(features: string, name: string): Promise<void> {
  await rm(join(features, name), { recursive: true });
  for (const file of (await readdir(features)).filter((each) => each.endsWith('.ts'))) {
    const lines = (await readFile(join(features, file), 'utf8')).split('\n');
    const imported = lines.flatMap((line) => /^import \{ (\w+) \} from '(.*)';$/.exec(line)?.slice(1) ?? []);
    const own = imported.filter((_, index) => imported[index + 1]?.startsWith(`./${name}/`));
    const kept = lines.filter((line) => !line.includes(`'./${name}/`)).join('\n');
    await writeFile(join(features, file), kept.replace(new RegExp(`\\b(${own.join('|') || '(?!)'})\\b,?`, 'g'), ''));
  }
}

/** What Docket rejects without a feature: fields of a workbook in a report, and arguments of a command. */
const REFUSED: Readonly<Record<string, { readonly output: string; readonly args: readonly string[] }>> = {
  'workbook-template': { output: ', template: board.xlsx', args: ['init', '--workbook', 'board.xlsx'] },
};

describe('Docket without one of its features', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  test.each(names)('can be built, shows its help, checks reports and delivers a run: without %s', async (name) => {
    const folder = await mkdtemp(resolve('node_modules/.docket-without-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    for (const part of ['src', 'templates', 'package.json']) await cp(part, join(folder, part), { recursive: true });
    await deleteFeature(join(folder, 'src/features'), name);
    await run(process.execPath, ['build/bundle.mjs', folder]);
    const env = {
      PATH: process.env.PATH,
      ACME_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key,
      COMPLIANCE_API_URL: sandbox.url,
      DOCKET_JOBS: await weeklyJobs(),
      LOG_LEVEL: 'error',
    };
    const docket = (args: readonly string[], more = {}) =>
      run(process.execPath, ['dist/main.js', ...args], { cwd: folder, env: { ...env, ...more } });
    expect((await docket(['--help'])).stdout).toContain('docket run');
    await docket(['check']);
    await docket(['run', 'acme/weekly']);
    expect(await readdir(join(folder, 'sent'), { recursive: true })).toContainEqual(expect.stringMatching(/\.xlsx$/));
    const refused = REFUSED[name];
    if (refused === undefined) return;
    const jobs = { DOCKET_JOBS: await weeklyJobs(refused.output) };
    await expect(docket(['check', '--json'], jobs)).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringContaining('"template"'),
    });
    await expect(docket(refused.args)).rejects.toMatchObject({ code: 2 });
  });
});
