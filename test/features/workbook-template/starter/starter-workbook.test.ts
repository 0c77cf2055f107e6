import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bindTemplate } from '../../../../src/features/workbook-template/binding/bind-template.ts';
import { outlineOfDefinition } from '../../../../src/features/workbook-template/binding/outline.ts';
import { openPackage } from '../../../../src/features/workbook-template/package/open-package.ts';
import { createStarterWorkbook } from '../../../../src/features/workbook-template/starter/starter-workbook.ts';
import { readWorkbook } from '../../../../src/features/workbook-template/workbook/read-workbook.ts';
import { readParts } from '../../../support/read-files.ts';
import { CATALOG, definitionOf } from '../../../support/reports.ts';

/** Two metrics with one label, a duration, ids that look like cells or alike, a list, a text, and a section of one row. */
const DEFINITION = definitionOf(
  [
    {
      id: 'onboarding',
      metrics: ['profiles.created', 'profiles.approval_rate', 'time'],
      granularity: 'week',
      totals: true,
    },
    { id: 'q1', metrics: ['profiles.created', 'profiles.decided'], dimensions: ['profile.type'], commentary: {} },
    { id: 'by-risk', metrics: ['profiles.created'], dimensions: ['profile.risk'], totals: true },
    { id: 'by_risk', metrics: ['profiles.decided'], title: 'By/risk: "again"' },
    { id: '2026-kpis', metrics: ['time'], to_date: 'year' },
    { id: 'roster', list: 'profiles' },
    { id: 'remarks', layout: 'text', description: 'Words.' },
  ],
  { compare: ['previous_period', 'previous_year'], units: { time: 'days' } },
);
const metric = (id: string) => CATALOG.metrics.find((each) => each.id === id) ?? expect.fail(id);
const LABELLED: typeof CATALOG = {
  ...CATALOG,
  metrics: [
    { ...metric('profiles.created'), label: 'Profiles' },
    { ...metric('profiles.decided'), label: 'Profiles' },
    { ...metric('profiles.approval_rate'), label: 'Approval rate' },
    { ...metric('profiles.created'), id: 'time', label: 'Time <& "decision"', unit: 'seconds' },
  ],
};

test.each([
  ['a catalog', 'en-GB', LABELLED],
  ['a catalog, in German', 'de-CH', LABELLED],
  ['ids only', 'en-GB', undefined],
])('a starter template with %s binds completely', async (_, locale, catalog) => {
  const outline = outlineOfDefinition(DEFINITION, catalog);
  const options = { title: 'Board pack', locale, judged: new Set(['profiles.created']), madeAt: 0 };
  const bytes = await createStarterWorkbook(outline, options);
  expect(await createStarterWorkbook(outline, options)).toEqual(bytes);
  const folder = await mkdtemp(join(tmpdir(), 'docket-starter-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'starter.xlsx'), bytes);
  expect(readParts(join(folder, 'starter.xlsx')).get('docProps/core.xml')).toContain(
    `<dc:language>${locale}</dc:language>`,
  );
  const template = await openPackage(join(folder, 'starter.xlsx'), 'starter.xlsx');
  onTestFinished(() => template.close());
  const workbook = await readWorkbook(template);
  const { tables, names, problems } = bindTemplate(workbook, outline);
  expect(problems).toEqual([]);
  expect(tables.map(({ section }) => section)).toEqual([
    'onboarding',
    'q1',
    'by-risk',
    'by_risk',
    '2026-kpis',
    'roster',
  ]);
  expect(tables.flatMap(({ columns }) => columns)).not.toContain(null);
  expect(tables.flatMap(({ columns, section }) => columns.map((column) => [section, column?.figure?.figure]))).toEqual(
    expect.arrayContaining([
      ['onboarding', 'status'],
      ['q1', 'previous'],
      ['2026-kpis', 'to_date'],
    ]),
  );
  expect(names).toHaveLength(workbook.names.filter(({ name }) => name.startsWith('docket.')).length);
  expect(names.map(({ name }) => name.name)).toEqual(
    expect.arrayContaining([
      'docket.title',
      'docket.headline.1',
      'docket.comment.q1',
      'docket.onboarding.profiles.created.change_previous_year',
      'docket.2026_kpis.time.to_date',
    ]),
  );
});
