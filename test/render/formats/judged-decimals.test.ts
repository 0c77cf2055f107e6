import { readFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import type { SourcedTarget } from '../../../src/definitions/schema/targets.ts';
import type { Table } from '../../../src/fetch/dataset.ts';
import { judgeDataset } from '../../../src/render/figures/judge.ts';
import { dataset, durationColumn, ratioColumn, row, table, typeColumn } from '../../support/dataset.ts';
import { cellsOf, readWorkbook } from '../../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../../support/render-folder.ts';

const { render } = useRenderFolder();
const [RATE, WAIT] = [ratioColumn.name, durationColumn.name];
const TARGETS: readonly SourcedTarget[] = [
  { metric: RATE, better: 'higher', target: '90%', watch: '85%', source: 'organization' },
  { metric: WAIT, better: 'lower', target: '24h', source: 'organization' },
  { metric: RATE, better: 'higher', target: '90%', where: { 'profile.type': 'entity' }, source: 'organization' },
];
const FIGURES = { [RATE]: 0.8996, [WAIT]: 86_401 };
const single = (more: Partial<Table> = {}) =>
  table({
    id: 'a',
    title: 'A',
    columns: [ratioColumn, { ...durationColumn, shownIn: 'hours' }],
    rows: [row(FIGURES)],
    ...more,
  });

async function workbook(of: Table, sheet = 'A'): Promise<string[]> {
  const judged = judgeDataset(dataset([of]), TARGETS, { sections: [] });
  const { path } = artifactNamed(await render(judged, [{ format: 'xlsx' }], { locale: 'en-GB' }), '.xlsx');
  return cellsOf(readWorkbook(path), sheet)
    .flat()
    .flatMap((cell) => (cell === undefined ? [] : [String(cell.w ?? cell.v)]));
}

test.each<[string, Table, string]>([
  ['a section of one row', single(), 'A'],
  ['a scorecard', single({ layout: { kind: 'scorecard', groups: [] } }), 'Summary'],
])('the workbook shows enough decimals to tell a figure from its target: %s', async (_, of, sheet) => {
  const texts = await workbook(of, sheet);
  expect(texts).toContain('89.96%');
  expect(texts).toContain('24.0003');
});

test('the workbook shows enough decimals in the rows and totals of a table', async () => {
  const groups = single({
    columns: [typeColumn, ratioColumn],
    rows: [row({ 'profile.type': 'entity', [RATE]: 0.8996 }), row({ 'profile.type': 'individual', [RATE]: 0.5 })],
    totals: { values: { [RATE]: 0.8997 } },
  });
  const texts = await workbook(groups);
  expect(texts).toContain('89.96%');
  expect(texts).toContain('89.97%');
  expect(texts).toContain('50.0%');
});

test('a formatted CSV file shows enough decimals to tell a figure from its target', async () => {
  const judged = judgeDataset(dataset([single()]), TARGETS, { sections: [] });
  const made = await render(judged, [{ format: 'csv', csv: { values: 'formatted' } }], { locale: 'en-GB' });
  const lines = parse(await readFile(artifactNamed(made, '.csv').path), { bom: true }) as string[][];
  expect(lines[1]).toEqual(expect.arrayContaining(['89.96%', '24.0003 hours']));
});

describe('a figure beside its watch limit', () => {
  const beside = () => single({ rows: [row({ [RATE]: 0.8497 })] });

  test.each<[string, Table, string]>([
    ['a section', beside(), 'A'],
    ['a scorecard', { ...beside(), layout: { kind: 'scorecard', groups: [] } }, 'Summary'],
  ])('has enough decimals in the workbook to tell the two apart: %s', async (_, of, sheet) => {
    expect(await workbook(of, sheet)).toContain('84.97%');
  });
});

test('a negative judged figure of a formatted CSV file has a true minus', async () => {
  const balance = { ...durationColumn, type: 'number', unit: 'chf' };
  const target = { metric: WAIT, better: 'higher', target: '-1000', source: 'organization' } as const;
  const negative = single({ columns: [balance], rows: [row({ [WAIT]: -1000.1 })] });
  const judged = judgeDataset({ ...dataset([negative]), targets: [], judgements: [] }, [target], { sections: [] });
  const made = await render(judged, [{ format: 'csv', csv: { values: 'formatted' } }], { locale: 'en-GB' });
  const lines = parse(await readFile(artifactNamed(made, '.csv').path), { bom: true }) as string[][];
  expect(lines[1]).toContain('−1,000.1 chf');
});
