import { symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { sha256 } from '../../../src/base/sha256.ts';
import { definitionParser, loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { watchDefinitions } from '../../../src/definitions/load/definition-source.ts';
import { MAX_ORG_FILE_BYTES } from '../../../src/definitions/load/org-file.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';
import { recordingLog } from '../../support/queue-harness.ts';

const withTemplate = (template: string, more = ''): string =>
  REPORT.replace('format: xlsx,', `format: xlsx, template: ${template},${more}`);

const folderWith = (template: string, files: Readonly<Record<string, string | Uint8Array>> = {}) =>
  jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': withTemplate(template), ...files });

const versionOf = async (folder: string, previous?: Awaited<ReturnType<typeof loadDefinitions>>) => {
  const jobs = await loadDefinitions(folder, previous === undefined ? {} : { previous: previous.lastKnownGood });
  return { jobs, definition: jobs.reports.get('acme/weekly') };
};

test('a changed template changes the digest of the report, and its definition has the hash of the template', async () => {
  const folder = await folderWith('board.xlsx', { 'acme/board.xlsx': 'one' });
  const first = await versionOf(folder);
  expect(first.jobs.diagnostics).toEqual([]);
  expect(first.definition?.files).toEqual({
    'board.xlsx': sha256('one'),
  });
  expect((await versionOf(folder, first.jobs)).definition).toBe(first.definition);
  await writeFile(join(folder, 'acme/board.xlsx'), 'two');
  const second = await versionOf(folder, first.jobs);
  expect(second.definition?.digest).not.toBe(first.definition?.digest);
});

test('the digest of a report without a template is the same as in versions without templates', async () => {
  const { definition } = await versionOf(await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT }));
  expect(definition).not.toHaveProperty('files');
  expect(definition?.digest).toBe(sha256(JSON.stringify(['acme', 'weekly', REPORT, ORG])));
});

test.each([
  ['missing', 'gone.xlsx', 'no such file'],
  ['of another organization', '../globex/board.xlsx', 'a path out of it'],
  ['outside of the folder by a detour', '../acme/../globex/board.xlsx', 'a path out of it'],
  ['named by an absolute path', '/etc/board.xlsx', 'a path out of it'],
  ['a folder', 'folder.xlsx', 'something else'],
  ['a link to another organization', 'link.xlsx', 'a path out of it'],
  ['too large', 'large.xlsx', `${MAX_ORG_FILE_BYTES + 1} bytes`],
])('a template that is %s is an error at the field', async (_, template, got) => {
  const folder = await folderWith(template, {
    'globex/org.yaml': ORG,
    'globex/board.xlsx': 'theirs',
    'acme/folder.xlsx/inner': '',
    'acme/large.xlsx': '',
  });
  await truncate(join(folder, 'acme/large.xlsx'), MAX_ORG_FILE_BYTES + 1);
  await symlink(join(folder, 'globex/board.xlsx'), join(folder, 'acme/link.xlsx'));
  const { jobs, definition } = await versionOf(folder);
  const faults = jobs.diagnostics.filter(({ file }) => file.endsWith('weekly.yaml'));
  expect(faults).toMatchObject([{ code: 'template.invalid', got, path: ['outputs', 0, 'template'] }]);
  const { line = 0, column = 0 } = faults[0] ?? {};
  const text = withTemplate(template).split('\n')[line - 1];
  expect(text?.slice(column - 1)).toMatch(new RegExp(`^${template.replaceAll('.', '\\.')}`));
  expect(definition).toBeUndefined();
});

test('a report whose template is missing keeps its last good version, even with new settings', async () => {
  const folder = await folderWith('board.xlsx', { 'acme/board.xlsx': 'one' });
  const first = await versionOf(folder);
  await writeFile(join(folder, 'acme/weekly.yaml'), withTemplate('gone.xlsx'));
  expect((await versionOf(folder, first.jobs)).definition).toBe(first.definition);
  await writeFile(join(folder, 'acme/org.yaml'), ORG.replace('name: Acme', 'name: Acme Ltd'));
  const { jobs, definition } = await versionOf(folder, first.jobs);
  expect(definition?.files).toEqual(first.definition?.files);
  expect(definition?.digest).not.toBe(first.definition?.digest);
  expect(jobs.usingLastKnownGood).toEqual(new Set(['acme/weekly']));
});

test.each([
  ['board.xlsx', ' macros: keep,', ['outputs', 0, 'macros']],
  ['board.ods', '', ['outputs', 0, 'template']],
])('the output with template %s and%s is refused', async (template, more, path) => {
  const folder = await jobsFolder({
    'acme/org.yaml': ORG,
    'acme/weekly.yaml': withTemplate(template, more),
    'acme/board.xlsx': '',
  });
  const { jobs } = await versionOf(folder);
  expect(jobs.diagnostics).toMatchObject([{ path }]);
});

test.each(['board.xltm', 'templates/board/board.xlsx'])(
  'the template %s is reloaded without a restart when it is saved',
  async (template) => {
    const file = `acme/${template}`;
    const folder = await folderWith(template, { [file]: 'one' });
    const first = await loadDefinitions(folder);
    const source = watchDefinitions(first, {
      clock: systemClock,
      log: recordingLog(),
      parser: definitionParser,
      debounceMs: 20,
    });
    onTestFinished(() => source.close());
    await source.reload();
    const changed = new Promise<string | undefined>((resolve) =>
      source.onChange((jobs) => resolve(jobs.reports.get('acme/weekly')?.digest)),
    );
    await writeFile(join(folder, file), 'longer');
    expect(await changed).not.toBe(first.reports.get('acme/weekly')?.digest);
  },
);
