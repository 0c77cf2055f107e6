import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { reportSelector, selectDiagnostics } from '../../../src/definitions/load/path-selection.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';

const BAD = REPORT.replace('previous_week', 'previous_weak').replace('title: Weekly', 'tilte: Weekly');

async function loaded() {
  const folder = await jobsFolder({
    'acme/org.yaml': ORG.replace('Europe/Zurich', 'Mars/Olympus'),
    'acme/good.yaml': REPORT,
    'acme/weekly.yaml': BAD,
    'beta/org.yaml': ORG,
    'beta/weekly.yaml': BAD,
    'beta/good.yaml': REPORT,
    'beta/notes.txt': '',
  });
  const jobs = await loadDefinitions(folder);
  const check = async (...only: string[]) =>
    (
      await selectDiagnostics(
        jobs,
        only.map((path) => join(folder, path)),
      )
    ).map(({ file, line }) => `${file.slice(folder.length + 1)}:${line}`);
  return { folder, jobs, check };
}

test('diagnostics are sorted by file and line', async () => {
  const { check } = await loaded();
  const beta = ['beta/weekly.yaml:2', 'beta/weekly.yaml:5'];
  expect(await check()).toEqual([
    'acme/org.yaml:5',

    'acme/weekly.yaml:2',
    'acme/weekly.yaml:5',
    ...beta,
  ]);
  expect(await check('.')).toHaveLength(5);
});

test('diagnostics can be limited to files and folders, and include those of their organization', async () => {
  const { check } = await loaded();
  expect(await check('beta/good.yaml')).toEqual([]);
  expect(await check('beta')).toHaveLength(2);
  expect(await check('acme/good.yaml')).toEqual(['acme/org.yaml:5']);
  expect(await check('acme/good.yaml', 'beta/weekly.yaml')).toHaveLength(3);
});

test('the selected files and folders determine the selected reports', async () => {
  const { folder, jobs } = await loaded();
  const named = async (...only: string[]) => {
    const chosen = await reportSelector(
      jobs,
      only.map((path) => join(folder, path)),
    );
    return ['good', 'weekly'].flatMap((report) => ['acme', 'beta'].map((org) => ({ org, report }))).filter(chosen)
      .length;
  };
  expect([await named(), await named('beta'), await named('beta/good.yaml')]).toEqual([4, 2, 1]);
});

test('a missing path or one without a definition is a usage error', async () => {
  const { folder, jobs } = await loaded();
  for (const path of ['beta/none.yaml', 'gamma', 'beta/notes.txt', '..']) {
    const where = join(folder, path);
    const outcome = selectDiagnostics(jobs, [where]);
    if (path === '..') await expect(outcome).resolves.toHaveLength(5);
    else await expect(outcome).rejects.toMatchObject({ code: 'usage.invalid', where });
  }
});
