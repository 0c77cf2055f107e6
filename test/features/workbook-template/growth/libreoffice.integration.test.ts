import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createFillDown, mapFormula } from '../../../../src/features/workbook-template/growth/map-formula.ts';
import { createReferenceMap } from '../../../../src/features/workbook-template/growth/reference-map.ts';
import { program } from '../../../support/debian.ts';
import { runMacro } from '../../../support/libreoffice-macro.ts';

/** References to row 5 alone are left out: row 5 ends the data, and LibreOffice inserts in front of it. */
const MOVED = [
  'SUM(B2:B5)',
  'SUM(B2:B4)+B3',
  'SUM($B$2:$B$5)*$C7-C$9',
  'B1:B6',
  'SUM(A1:D9)+B7*B12',
  'SUM(2:5)+SUM(7:$9)',
  'SUM($Board!B2:B5)+$Other!B7',
  'SUMIFS($Board!B$2:B$5,$Board!$A$2:$A$5,"B2:B5")',
  'INDEX($Board!A2:C5,MATCH(B6,$Board!A2:A5,0),2)',
  'SUM(B2:B5,B7:C8)+name',
];
const FILLED = ['B5*2-B4', 'SUM(B$2:B5)/SUM(B$2:B$5)', '$A5&"B5"&D$1', 'SUM($Other!A5:$C5)', 'SUM(5:$5)+SUM(A:$A)'];

/** A formula in LibreOffice's syntax. */
const calc = (formula: string): string => `=${formula.replaceAll('!', '.').replaceAll(',', ';')}`;
const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-growth-'));
});
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

it('formulas are mapped and filled down as LibreOffice does it', async () => {
  const result = join(folder, 'formulas.txt');
  const own = 'documents.Sheets.getByName("Board")';
  await runMacro(await program('soffice', 'libreoffice-calc'), join(folder, 'profile'), [
    'documents = StarDesktop.loadComponentFromURL("private:factory/scalc", "_blank", 0, Array())',
    'documents.Sheets.getByIndex(0).Name = "Board"',
    'documents.Sheets.insertNewByName("Other", 1)',
    'other = documents.Sheets.getByName("Other")',
    ...MOVED.map((formula, index) => `${own}.getCellByPosition(${10 + index}, 0).Formula = ${quoted(calc(formula))}`),
    ...FILLED.map((formula, index) => `other.getCellByPosition(${20 + index}, 4).Formula = ${quoted(calc(formula))}`),
    'other.getCellRangeByName("U5:Y8").fillAuto(0, 1)',
    `${own}.Rows.insertByIndex(4, 10)`,
    `Open ${quoted(result)} For Output As #1`,
    ...MOVED.map((_, index) => `Print #1, ${own}.getCellByPosition(${10 + index}, 0).Formula`),
    ...FILLED.map((_, index) => `Print #1, other.getCellByPosition(${20 + index}, 7).Formula`),
    'Close #1',
    'documents.close(True)',
  ]);
  const found = (await readFile(result, 'utf8')).trimEnd().split('\n');

  const map = createReferenceMap(
    new Map([
      [
        'Board',
        [{ first: 2, last: 5, rows: 14, tables: [{ name: 't', fromColumn: 1, toColumn: 4, totalsRow: false }] }],
      ],
    ]),
  );
  expect(found).toEqual([
    ...MOVED.map((formula) => calc(mapFormula(formula, 'Board', map))),
    ...FILLED.map((formula) => calc(createFillDown(formula)(3, 0))),
  ]);
});
