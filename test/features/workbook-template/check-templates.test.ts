import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';
import { runCommand } from '../../support/run-command.ts';

const WITH_TEMPLATE = REPORT.replace('format: xlsx,', 'format: xlsx, template: board.xlsx,');

/** A report and a starter template for it. */
async function starterFolder() {
  const jobs = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
  const board = join(jobs, 'acme/board.xlsx');
  const env = { DOCKET_JOBS: jobs };
  const init = (...flags: string[]) =>
    runCommand(['init', '--workbook', board, '--offline', '--json', ...flags], { env });
  const check = async (...args: string[]) => {
    const { code, stdout } = await runCommand(['check', '--offline', '--json', ...args], { env });
    return { code, ...JSON.parse(stdout) };
  };
  const writeReport = (text: string) => writeFile(join(jobs, 'acme/weekly.yaml'), text);
  return { jobs, board, init, check, writeReport };
}

test('a starter template passes the check, and init does not overwrite it', async () => {
  const { board, init, check, writeReport } = await starterFolder();
  const { code, stdout } = await init();
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    { written: [board], report: 'acme/weekly', template: 'board.xlsx', catalog: false, why: expect.any(String) },
  ]);
  await writeReport(WITH_TEMPLATE);
  expect(await check()).toMatchObject({ code: 0, faults: [], warnings: [] });
  const before = await readFile(board);
  expect(await init('--report', 'acme/weekly')).toMatchObject({ code: 2 });
  expect(await readFile(board)).toEqual(before);
});

test('problems of a template name file, sheet and cell, and the check exits with 1', async () => {
  const { board, init, check, writeReport } = await starterFolder();
  await init();
  await writeReport(WITH_TEMPLATE.replace('profiles.created, profiles.decided', 'profiles.decided'));
  const { code, faults, warnings } = await check();
  expect([code, warnings]).toEqual([1, []]);
  expect(faults).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ file: board, cell: 'onboarding!C4', code: 'workbook.unknown', line: 1, column: 1 }),
      expect.objectContaining({ file: board, cell: expect.stringMatching(/^Summary!B\d+$/), code: 'workbook.unknown' }),
    ]),
  );
  expect(await check(board)).toMatchObject({ code: 1, faults });
  const lines = (await runCommand(['check', '--offline', board], { env: { DOCKET_JOBS: join(board, '../..') } }))
    .stdout;
  expect(lines).toContain(`${board}:onboarding!C4: `);
});

test('a template that is not a workbook is an error', async () => {
  const { board, check, writeReport } = await starterFolder();
  await writeFile(board, 'no zip');
  await writeReport(WITH_TEMPLATE);
  const { code, faults } = await check();
  expect([code, faults]).toMatchObject([1, [{ file: board, code: 'workbook.invalid' }]]);
});

test.each([
  ['a report that does not exist', ['--report', 'acme/monthly'], 'definition.not_found'],
  ['another kind of file', ['--workbook', 'board.ods'], 'usage.invalid'],
])('init rejects a starter template for %s', async (_, flags, code) => {
  const { init } = await starterFolder();
  expect((await init(...flags)).stderr).toContain(`[${code}]`);
});
