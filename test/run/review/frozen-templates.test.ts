import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findOutputFile } from '../../../src/definitions/load/org-file.ts';
import { FORMATS } from '../../../src/features/formats.ts';
import { currentPaths, readRenderFiles, writeRenderFiles } from '../../../src/run/review/frozen-templates.ts';
import { jobsFolder } from '../../support/jobs-folder.ts';

const OUTPUTS = { outputs: [{ format: 'xlsx', template: './board.xlsx' }, { format: 'csv' }] };

test('a frozen template is found under its name in the definition, with the content from when it was frozen', async () => {
  const definitionsFolder = await jobsFolder({ 'acme/board.xlsx': 'before' });
  const paths = currentPaths({ org: 'acme' }, {}, { templates: undefined, definitionsFolder });
  const frozen = await readRenderFiles(paths, OUTPUTS, FORMATS);
  await writeFile(join(definitionsFolder, 'acme/board.xlsx'), 'after');
  const { orgFolder } = await writeRenderFiles(frozen, await jobsFolder({}), undefined);
  const { path } = await findOutputFile(orgFolder, { file: './board.xlsx', what: 'workbook template' });
  expect(await readFile(path, 'utf8')).toBe('before');
});

test.each([
  ['is gone', 'gone.xlsx'],
  ['is of another organization', '../globex/board.xlsx'],
])('a template that %s cannot be frozen', async (_, template) => {
  const definitionsFolder = await jobsFolder({ 'acme/board.xlsx': '', 'globex/board.xlsx': 'theirs' });
  const paths = currentPaths({ org: 'acme' }, {}, { templates: undefined, definitionsFolder });
  const reading = readRenderFiles(paths, { outputs: [{ format: 'xlsx', template }] }, FORMATS);
  await expect(reading).rejects.toMatchObject({ code: 'template.invalid', retryable: false });
});
