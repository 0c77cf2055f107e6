import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { differences } from '../features/workbook-template/support/check-filled.ts';
import type { SizeName } from '../features/workbook-template/support/figures.ts';
import { fill } from '../features/workbook-template/support/fill-recorded.ts';
import { libreofficeFacts } from '../features/workbook-template/support/libreoffice-facts.ts';
import { checkTemplates, type TemplateCase } from '../features/workbook-template/support/matrix.ts';
import { buildSheet, figuresOfSheet, randomSheet } from '../features/workbook-template/support/random-sheets.ts';
import { recalculate } from '../features/workbook-template/support/recalculate.ts';
import { expectedFacts, recordedTemplates, templatePath } from '../features/workbook-template/support/recorded.ts';

/**
 * One template of each kind of content and tool. `npx tsx test/features/workbook-template/support/print-matrix.ts` checks all
 * of them at more sizes.
 */
const GROWN = [
  ...['line-chart', 'combo-chart', 'scatter-chart', 'chart-other-sheet', 'formulas-across', 'side-by-side', 'stacked'],
  ...['totals-rows', 'calculated-columns', 'names', 'conditional-formats', 'sparklines', 'validations', 'dates-1904'],
  ...['macros', 'everything', 'pivot-tables', 'op-combo-chart', 'op-names-print', 'op-stacked-totals'],
  ...['line-chart-lo', 'pivot-tables-lo', 'everything-lo'],
];
const SHRUNK = ['totals-rows', 'stacked', 'pivot-tables', 'everything'];
const RANDOM = 20;

describe('filled templates in LibreOffice and the Open XML SDK', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-workbooks-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('equal the workbooks that the tools build themselves', async () => {
    const expected = expectedFacts();
    const cases = (size: SizeName, names: readonly string[]): TemplateCase[] =>
      recordedTemplates()
        .filter(({ name }) => names.includes(name))
        .map((recorded) => ({
          recorded,
          size,
          path: templatePath(recorded),
          facts: expected[recorded.name]?.package[size] ?? [],
          libreoffice: expected[recorded.name]?.libreoffice?.[size] ?? [],
        }));
    const all = [...cases('10', GROWN), ...cases('7-2', SHRUNK)];
    expect(all).toHaveLength(GROWN.length + SHRUNK.length);
    expect([...(await checkTemplates(all, folder))]).toEqual([]);
  });

  test('compute the same values as sheets built at that size, for random sheets', async () => {
    const sheets = fc.sample(randomSheet, { numRuns: RANDOM, seed: 20_261_123 });
    const pairs = await Promise.all(
      sheets.map(async (sheet, index) => {
        const file = (name: string) => join(folder, `${name}-${index}.xlsx`);
        await writeFile(file('template'), buildSheet(sheet, 'template'));
        await writeFile(file('built'), buildSheet(sheet, 'filled'));
        await fill(file('template'), file('filled'), figuresOfSheet(sheet));
        return [file('built'), file('filled')] as const;
      }),
    );
    const out = join(folder, 'random');
    await mkdir(out);
    const computed = await recalculate(pairs.flat(), out);
    for (const [index] of sheets.entries()) {
      const [built, filled] = [computed[index * 2] ?? '', computed[index * 2 + 1] ?? ''];
      const facts = await libreofficeFacts(built);
      expect(facts.filter((fact) => fact.includes('of:=')).length).toBeGreaterThanOrEqual(3);
      expect(differences(facts, await libreofficeFacts(filled)), JSON.stringify(sheets[index])).toBe('');
    }
  });
});
