import { execFileSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { MAX_DEFINITION_BYTES } from '../../../src/definitions/schema/report-definition.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';

async function faultsOf(
  files: Readonly<Record<string, string | Uint8Array>>,
  prepare?: (folder: string) => Promise<void>,
) {
  const folder = await jobsFolder({ 'acme/org.yaml': ORG, ...files });
  await prepare?.(folder);
  const jobs = await loadDefinitions(folder);
  return { jobs, faults: jobs.diagnostics.map((fault) => ({ ...fault, file: fault.file.slice(folder.length + 1) })) };
}

describe('the loader reports', () => {
  test.each([
    ['an unclosed quote', 'version: 1\ntitle: "Weekly\n', 2, 'at the end of the text'],
    ['a tab as indentation', 'version: 1\nsections:\n\t- id: a\n', 3, 'spaces: YAML does not'],
    ['text after a value', 'title: "a" b\n', 1, 'the end of the value or a new line'],
    ['a second document', 'version: 1\n---\nversion: 1\n', 2, 'one YAML document'],
    ['a tag', 'title: !secret x\n', 1, 'starts with "!"'],
    ['an alias without an anchor', 'title: *nothing\n', 1, 'an anchor of this name'],
    ['an alias of itself', 'sections: &a [*a]\n', 1, 'does not contain itself'],
    ['a field name that is a list', '[a]: 1\n', 1, 'a text as the field name'],
    ['no text', '', 1, 'a mapping of fields'],
    ['only a comment', '# to do\n', 1, 'a mapping of fields'],
    ['a list instead of a mapping', '- version: 1\n', 1, 'a mapping of fields'],
  ])('%s', async (_, text, line, expected) => {
    const { faults, jobs } = await faultsOf({ 'acme/weekly.yaml': text });
    expect(faults).toContainEqual(
      expect.objectContaining({ file: 'acme/weekly.yaml', line, expected: expect.stringContaining(expected) }),
    );
    expect(jobs.reports.size).toBe(0);
  });

  test('nesting that would overflow the stack', async () => {
    for (const text of [`title: ${'['.repeat(500_000)}`, '- '.repeat(200_000), '{a: '.repeat(200_000)]) {
      const { faults } = await faultsOf({ 'acme/weekly.yaml': text });
      expect(faults).toMatchObject([
        { file: 'acme/weekly.yaml', line: 1, expected: 'at most 64 levels of lists and mappings' },
      ]);
    }
  });

  test('aliases of aliases that expand exponentially', async () => {
    const rows = Array.from({ length: 9 }, (_, level) => {
      const below = level === 0 ? 'x' : `*l${level - 1}`;
      return `l${level}: &l${level} [${Array(9).fill(below).join(', ')}]`;
    });
    const { faults } = await faultsOf({ 'acme/weekly.yaml': rows.join('\n') });
    expect(faults).toMatchObject([
      // The first four levels expand to fewer than 10,000 values. In the next one, each alias stands for 59,049.
      { line: 6, expected: expect.stringContaining('aliases that come to at most') },
    ]);
  });

  test('many aliases of a long list', async () => {
    const text = `a: &a [${Array(1_200).fill('x').join(', ')}]\nb:\n${'  - *a\n'.repeat(99)}`;
    const { faults } = await faultsOf({ 'acme/weekly.yaml': text });
    expect(faults).toMatchObject([{ line: 86, expected: expect.stringContaining('aliases that come to at most') }]);
  });

  test('the first hundred of many refused recipients that aliases repeat', async () => {
    const to = Array.from({ length: 100 }, (_, index) => `a${index}@elsewhere.example`).join(', ');
    const text = REPORT.replace(
      /deliveries:[\s\S]*/,
      `deliveries:\n  - &mail { email: { to: [${to}] } }\n${'  - *mail\n'.repeat(49)}`,
    );
    const { faults } = await faultsOf({ 'acme/weekly.yaml': text });
    expect(faults).toHaveLength(101);
    expect(faults.at(-1)).toMatchObject({ got: '4900 more' });
  });

  test('too many aliases', async () => {
    const { faults } = await faultsOf({ 'acme/weekly.yaml': `a: &a x\nb: [${Array(50_000).fill('*a').join(', ')}]` });
    expect(faults).toMatchObject([{ line: 2, expected: 'at most 100 aliases' }]);
  });

  test('the first hundred of thousands of errors', async () => {
    const text = Array.from({ length: 5_000 }, (_, index) => `field${index}: 1`).join('\n');
    const { faults } = await faultsOf({ 'acme/weekly.yaml': text });
    expect(faults).toHaveLength(101);
    expect(faults.at(-1)).toMatchObject({
      got: expect.stringMatching(/^\d+ more$/),
      next: 'correct the first ones and check again',
    });
    expect(Number.parseInt(faults.at(-1)?.got ?? '', 10)).toBeGreaterThanOrEqual(4_900);
  });

  test('invalid UTF-8 at its first byte', async () => {
    const bytes = Buffer.concat([Buffer.from('version: 1\ntitle: Zür'), Buffer.from([0xe9]), Buffer.from('ich\n')]);
    const { faults } = await faultsOf({ 'acme/weekly.yaml': bytes });
    expect(faults).toMatchObject([{ file: 'acme/weekly.yaml', line: 2, column: 11, expected: 'text in UTF-8' }]);
    const utf16 = Buffer.from('\uFEFFversion: 1\n', 'utf16le');
    expect((await faultsOf({ 'acme/weekly.yaml': utf16 })).faults).toMatchObject([
      { line: 1, column: 1, expected: 'text in UTF-8' },
    ]);
  });

  test('no error for a byte order mark', async () => {
    const { jobs } = await faultsOf({ 'acme/weekly.yaml': `\uFEFF${REPORT}` });
    expect([jobs.diagnostics, [...jobs.reports.keys()]]).toEqual([[], ['acme/weekly']]);
  });
});

describe('the loader does not read', () => {
  test('a file above the size limit, but reads a file at the limit', async () => {
    const padded = (bytes: number) => REPORT + '#'.repeat(bytes - Buffer.byteLength(REPORT));
    const { faults, jobs } = await faultsOf({
      'acme/at.yaml': padded(MAX_DEFINITION_BYTES),
      'acme/over.yaml': padded(MAX_DEFINITION_BYTES + 1),
    });
    expect(faults).toMatchObject([
      {
        file: 'acme/over.yaml',
        line: 1,
        column: 1,
        expected: 'at most 1048576 bytes',
        got: '1048577 bytes',
      },
    ]);
    expect([...jobs.reports.keys()]).toEqual(['acme/at']);
  });

  test('a pipe, which never ends', async () => {
    const { faults } = await faultsOf({}, async (folder) => {
      execFileSync('mkfifo', [join(folder, 'acme/weekly.yaml')]);
    });
    expect(faults).toMatchObject([{ file: 'acme/weekly.yaml', expected: 'a file' }]);
  });

  test('links that lead out of the folder, but reads links within it', async () => {
    const outside = await jobsFolder({ 'secret.yaml': REPORT, 'other/org.yaml': ORG });
    const { faults, jobs } = await faultsOf({ 'acme/..data/real.yaml': REPORT }, async (folder) => {
      await symlink(join(outside, 'secret.yaml'), join(folder, 'acme/out.yaml'));
      await symlink(join(outside, 'other'), join(folder, 'other'));
      await symlink(join(folder, 'nowhere'), join(folder, 'acme/gone.yaml'));
      await symlink('..data/real.yaml', join(folder, 'acme/in.yaml'));
    });
    expect(faults.map(({ file, got }) => [file, got])).toEqual([
      ['acme/gone.yaml', 'a broken symbolic link (ENOENT)'],
      ['acme/out.yaml', 'a link out of it'],
      ['other', 'a link out of it'],
    ]);
    expect([...jobs.reports.keys()]).toEqual(['acme/in']);
  });
});

describe('the loader refuses', () => {
  test('names of files and folders that are no IDs, and a second file with the same ID', async () => {
    const { faults } = await faultsOf({
      'acme/Weekly.yaml': REPORT,
      'acme/kpi.yaml': REPORT,
      'acme/kpi.yml': REPORT,
      'acme/kpi.YAML': REPORT,
      'acme/sub/nested.yaml': REPORT,
      'Acme Ltd/org.yaml': ORG,
      'stray.yaml': REPORT,
    });
    expect(faults.map(({ file, expected }) => [file, expected.slice(0, 24)])).toEqual([
      ['Acme Ltd', 'a folder name of lower-c'],
      ['acme/Weekly.yaml', 'a file name of lower-cas'],
      ['acme/kpi.YAML', 'a file name of lower-cas'],
      ['acme/kpi.yml', 'one file a report'],
      ['acme/sub', 'definitions directly in '],
      ['stray.yaml', 'a definition in the fold'],
    ]);
  });

  test('a folder with reports but without org.yaml', async () => {
    const { faults, jobs } = await faultsOf({ 'beta/weekly.yaml': REPORT });
    expect(faults).toMatchObject([{ file: 'beta/org.yaml', expected: 'an org.yaml in the folder of an organization' }]);
    expect(jobs.reports.size).toBe(0);
  });

  test('unknown fields with the names of built-in properties', async () => {
    const { faults } = await faultsOf({
      'acme/weekly.yaml': `${REPORT}__proto__: { a: 1 }\nconstructor: 2\ntoString: 3\n`,
    });
    expect(faults.map(({ message, got }) => [message, got])).toEqual([
      ['unknown field', '"__proto__"'],
      ['unknown field', '"constructor"'],
      ['unknown field', '"toString"'],
    ]);
  });
});

test('a missing jobs folder is an error of the configuration', async () => {
  const folder = await jobsFolder({});
  await expect(loadDefinitions(join(folder, 'none'))).rejects.toMatchObject({
    code: 'config.invalid',
    where: 'DOCKET_JOBS',
  });
  await writeFile(join(folder, 'file'), '');
  await expect(loadDefinitions(join(folder, 'file'))).rejects.toMatchObject({ code: 'config.invalid' });
  await mkdir(join(folder, 'empty'));
  expect((await loadDefinitions(join(folder, 'empty'))).diagnostics).toEqual([]);
});
