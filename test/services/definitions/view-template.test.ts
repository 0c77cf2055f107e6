import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BUILT_IN_KINDS, loadDefinitions, requireReport } from '../../../src/compose/built-in-kinds.ts';
import { createTemplateViewer } from '../../../src/services/definitions/view-template.ts';

let folder: string;
let version: ReturnType<typeof requireReport>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-view-'));
  await mkdir(join(folder, 'demo'));
  version = requireReport(await loadDefinitions('jobs'), 'demo/board-book');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Without a catalog, labels of the API are unknown. */
const viewer = () =>
  createTemplateViewer(
    () => folder,
    async () => 'No catalog is cached.',
    BUILT_IN_KINDS.formats,
  );

test('a missing template is shown with its error, and read as soon as it exists', async () => {
  const view = viewer();
  const missing = await view(version);
  expect(JSON.stringify(missing)).not.toContain(folder);
  expect(missing).toMatchObject({
    template: 'board.xlsx',
    tables: [],
    problems: [{ severity: 'error', code: 'template.invalid' }],
  });
  await copyFile('jobs/demo/board.xlsx', join(folder, 'demo', 'board.xlsx'));
  const found = await view(version);
  expect(found?.tables.map(({ name, section }) => [name, section])).toEqual([
    ['Months', 'trend'],
    ['groups', 'groups'],
    ['risk', 'risk'],
    ['alerts', 'alerts'],
  ]);
  expect(found?.names).toContainEqual({ name: 'docket.period.label', cell: 'Board!E3', bound: 'period.label' });
  // The template is cached by the digest of the definition.
  await rm(join(folder, 'demo', 'board.xlsx'));
  expect(await view(version)).toBe(found);
});

test('a report without a template shows none', async () => {
  const { definition, settings } = version;
  expect(await viewer()({ definition: { ...definition, outputs: [{ format: 'xlsx' }] }, settings })).toBeNull();
});
