import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { jobsFolder, ORG, REPORT } from '../../../support/jobs-folder.ts';
import { runCommand } from '../../../support/run-command.ts';

const org = (key: string, budget: string) => `${ORG.replace('ACME_KEY', key)}${budget}`;
const report = REPORT.replace(/^ {2}- email.*\n/m, '');

/** Two organizations with one key under two names, and one with another key. */
const folderOf = (eu: string) =>
  jobsFolder({
    'acme/org.yaml': org('ACME_KEY', 'budget: { calls: 30 }\n'),
    'acme/weekly.yaml': report,
    'acme-eu/org.yaml': org(eu, 'budget: { calls: 60 }\n'),
    'acme-eu/weekly.yaml': report,
    'other/org.yaml': org('OTHER_KEY', 'budget: { calls: 5 }\n'),
    'other/weekly.yaml': report,
  });
const CONFLICT = /acme .*30.* acme-eu .*60/;
const KEYS = { ACME_KEY: 'one.s3cr3t', EU_KEY: 'one.s3cr3t', OTHER_KEY: 'another.s3cr3t' };

const check = async (folder: string, env: Record<string, string>, ...paths: string[]) => {
  const { code, stdout } = await runCommand(['check', '--offline', '--json', ...paths], {
    env: { DOCKET_JOBS: folder, ...env },
  });
  expect(stdout).not.toContain('s3cr3t');
  const { faults } = JSON.parse(stdout);
  return { code, faults };
};

test('check reports two budgets for one key, in each file that sets one', async () => {
  const folder = await folderOf('EU_KEY');
  const fault = (id: string, got: string) =>
    expect.objectContaining({
      file: join(folder, id, 'org.yaml'),
      line: 9,
      column: 9,
      message: expect.stringMatching(CONFLICT),
      got,
    });
  const both = [fault('acme', '30 calls in 60 s'), fault('acme-eu', '60 calls in 60 s')];
  expect(await check(folder, KEYS)).toEqual({ code: 1, faults: expect.arrayContaining(both) });
  expect((await check(folder, KEYS)).faults).toHaveLength(2);
  expect((await check(folder, KEYS, join(folder, 'acme-eu'))).faults).toEqual([both[1]]);
  expect(await check(folder, KEYS, join(folder, 'other'))).toEqual({ code: 0, faults: [] });
  // Without the values, two references can be two keys.
  expect(await check(folder, {})).toEqual({ code: 0, faults: [] });
});

test('check reports them without the values if both files refer to the same key', async () => {
  const { code, faults } = await check(await folderOf('ACME_KEY'), {});
  expect(code).toBe(1);
  expect(faults).toMatchObject([
    { message: expect.stringMatching(CONFLICT) },
    { message: expect.stringMatching(CONFLICT) },
  ]);
});

test('doctor reports them, even if nothing else can be reached', async () => {
  const { stdout } = await runCommand(['doctor', '--json'], {
    env: { DOCKET_JOBS: await folderOf('EU_KEY'), REDIS_URL: inject('redisUrl'), ...KEYS },
  });
  const { findings } = JSON.parse(stdout);
  expect(findings).toContainEqual({
    what: 'Budget settings of acme, acme-eu',
    state: 'fail',
    detail: expect.stringMatching(CONFLICT),
    remedy: expect.any(String),
  });
  expect(findings.filter(({ what }: { what: string }) => what.startsWith('Budget settings'))).toHaveLength(1);
});
