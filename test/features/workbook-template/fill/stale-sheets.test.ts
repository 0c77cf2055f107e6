import { expect, test } from 'vitest';
import { findStaleSheets, namesIn } from '../../../../src/features/workbook-template/fill/stale-sheets.ts';
import type { TemplateTable } from '../../../../src/features/workbook-template/workbook/workbook.ts';

const table = (sheet: string, name: string): TemplateTable => ({
  part: '',
  sheet,
  name,
  range: { from: { row: 1, column: 1 }, to: { row: 2, column: 1 } },
  headerRows: 1,
  totalsRows: 0,
  columns: [{ header: 'x' }],
});

test('stored results are stale if a formula reads a filled sheet by sheet, table or name, even indirectly', () => {
  const formulas = {
    'by sheet': "SUM('Board ''26'!A1:A9)",
    'by table': 'SUM(ONBOARDING[Created])',
    'by name': 'Total_2*2',
    'through another': "'by name'!B4+1",
    'by a table of another': 'own[x]',
    'as a text': "INDIRECT(\"'Board ''26'!A1\")",
    itself: 'SUM(A1:B9)+1',
    'of another table': 'SUM(other[x])',
  };
  const stale = findStaleSheets(
    {
      tables: [table("Board '26", 'onboarding'), table('by sheet', 'own'), table('itself', 'other')],
      names: [
        { name: 'total_2', scope: null, formula: 'Total_1*1' },
        { name: 'Total_1', scope: null, formula: "'Board ''26'!$A$3" },
        { name: 'Rate', scope: null, formula: 'itself!$A$3' },
      ],
    },
    new Set(["Board '26"]),
    new Map(Object.entries(formulas).map(([sheet, formula]) => [sheet, new Set(namesIn(formula))])),
  );
  expect([...stale].sort()).toEqual([
    "Board '26",
    'as a text',
    'by a table of another',
    'by name',
    'by sheet',
    'by table',
    'through another',
  ]);
});

test('a long chain of names is followed to its end', () => {
  const names = Array.from({ length: 20_000 }, (_, index) => ({
    name: `n${index}`,
    scope: null,
    formula: index === 19_999 ? 'Board!$A$1' : `n${index + 1}`,
  }));
  const mentions = new Map([['far', new Set(['n0'])]]);
  expect(findStaleSheets({ tables: [], names }, new Set(['Board']), mentions)).toEqual(new Set(['Board', 'far']));
});
