import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { findObstacles } from '../../../../src/features/workbook-template/growth/find-obstacles.ts';
import type { TemplatePackage } from '../../../../src/features/workbook-template/package/template-package.ts';
import { parseRange } from '../../../../src/features/workbook-template/workbook/addresses.ts';
import type { DefinedName, TemplateTable } from '../../../../src/features/workbook-template/workbook/workbook.ts';

const SHEETS = ['Board', 'Other'];

interface Example {
  readonly sheet?: string;
  readonly other?: string;
  readonly pivot?: string;
  readonly names?: readonly DefinedName[];
  /** More bound tables by name and range, besides `cases` in A1:C5 with a totals row. */
  readonly bound?: Readonly<Record<string, string>>;
  readonly unbound?: Readonly<Record<string, string>>;
}

const table = (name: string, ref: string, totalsRows = 0): TemplateTable => {
  const range = parseRange(ref);
  if (range === undefined) throw new Error(`no range: ${ref}`);
  return { part: `${name}.xml`, sheet: 'Board', name, range, headerRows: 1, totalsRows, columns: [] };
};

const tablesOf = (ranges: Readonly<Record<string, string>> = {}): TemplateTable[] =>
  Object.entries(ranges).map(([name, ref]) => table(name, ref));

/** The problems as `severity code place`. */
async function problemsOf({ sheet = '', other = '', pivot, names = [], bound, unbound }: Example): Promise<string[]> {
  const parts = new Map([
    ['Board', `<worksheet>${sheet}</worksheet>`],
    ['Other', `<worksheet>${other}</worksheet>`],
    ['pivot', `<pivotTableDefinition><location ref="${pivot}"/></pivotTableDefinition>`],
  ]);
  const textOf = (part: string): string => parts.get(part) ?? '';
  const template: TemplatePackage = {
    file: 'board.xlsx',
    parts: [...parts.keys()],
    has: (part) => parts.has(part),
    contentType: () => undefined,
    relationships: async (part) =>
      part === 'Board' && pivot !== undefined
        ? [{ id: 'rId1', type: 'http://x/relationships/pivotTable', target: 'pivot', external: false }]
        : [],
    readText: async (part) => textOf(part),
    openPart: async (part) => Readable.from([Buffer.from(textOf(part))]),
    close: async () => undefined,
  };
  const tables = [table('cases', 'A1:C5', 1), ...tablesOf(bound)];
  const problems = await findObstacles(
    template,
    {
      sheets: SHEETS.map((name) => ({ name, part: name, kind: 'worksheet' })),
      tables: [...tables, ...tablesOf(unbound)],
      names,
      date1904: false,
      macros: false,
    },
    { tables: tables.map((one) => ({ table: one, section: one.name, columns: [] })), names: [], problems: [] },
  );
  return problems.map(({ severity, code, at }) =>
    `${severity} ${code} ${[at?.sheet, at?.cell].filter((text) => text !== undefined).join('!')}`.trim(),
  );
}

const data = (...cells: string[]): string => `<sheetData>${cells.join('')}</sheetData>`;
const row = (number: number, cells: string, more = ''): string => `<row r="${number}"${more}>${cells}</row>`;
const merge = (...refs: string[]): string =>
  `<mergeCells>${refs.map((ref) => `<mergeCell ref="${ref}"/>`).join('')}</mergeCells>`;
const name = (formula: string, scope: string | null): DefinedName => ({ name: 'n', scope, formula });

it.each<[string, Example, string[]]>([
  [
    'merged cells in the table and where rows are inserted',
    { sheet: merge('B2:C2', 'A3:B3', 'E4:E6', 'E1:F4', 'E5:E6', 'A5:C5') },
    ['error workbook.obstacle Board!B2:C2', 'error workbook.obstacle Board!E4:E6'],
  ],
  [
    'formulas with a range of results',
    {
      sheet: data(
        row(
          2,
          '<c r="A2"><f t="array" ref="A2">SUM(B2*{1,2})</f></c><c r="B2"><f t="array" ref="B2:C2">A2*{1,2}</f></c><c r="E2" cm="1"><f t="array" ref="E2:E9">X()</f></c>',
        ),
        row(3, '<c r="G3"><f t="dataTable" ref="G3:H5" r1="A1"/></c><c r="K3"><f t="array" ref="K3:K4">A1</f></c>'),
      ),
    },
    [
      'error workbook.obstacle Board!B2:C2',
      'error workbook.obstacle Board!E2:E9',
      'error workbook.obstacle Board!G3:H5',
    ],
  ],
  [
    'tables',
    { bound: { low: 'E3:F7' }, unbound: { ends: 'H1:I4', split: 'K2:L6', below: 'N5:O6' } },
    ['error workbook.obstacle Board!E3:F7', 'error workbook.obstacle Board!K2:L6'],
  ],
  ['a pivot table beside', { pivot: 'E3:G8' }, ['error workbook.obstacle Board!E3:G8']],
  ['a pivot table below', { pivot: 'A8:C12' }, []],
  [
    'references that growth does not follow',
    {
      sheet: `${data(row(9, '<c><f>1+indirect("B"&amp;2)</f></c><c><f>INDIRECT("Board!B2")+OFFSET(A1,1,0)</f></c>'))}
        <dataValidation sqref="A9"><formula1>INDIRECT($A$1)</formula1></dataValidation>`,
      other: data(
        row(
          1,
          `<c r="C1"><f>"OFFSET("&amp;INDIRECT("cases[Count]")&amp;MY.OFFSET(1)&amp;A1:B2</f></c>
        <c r="D1"><f>SUM(Board:Other!A1)</f></c>`,
        ),
      ),
      names: [name('OFFSET(Board!$A$1,0,0)', null), name('SUM(Board!$A$1)', 'Board')],
    },
    [
      'warning workbook.not_followed',
      'warning workbook.not_followed Board!A9',
      'warning workbook.not_followed Board!B9',
      'warning workbook.not_followed Other!D1',
    ],
  ],
  [
    'what new rows would lack or inherit',
    {
      sheet: data(
        row(3, '<c r="B3"><f>A3</f></c><c r="E3"><f>A3*2</f></c>'),
        row(4, '<c r="B4"><f>A4</f></c><c r="E4"><f>A4*2</f></c><c r="F4"><f>SUM(A2:A4)</f></c>', ' hidden="1"'),
      ),
    },
    ['warning workbook.obstacle Board!4:4', 'warning workbook.not_followed Board!E4'],
  ],
  [
    'hidden rows of data',
    {
      sheet: data(
        row(1, '', ' hidden="1"'),
        row(2, '', ' hidden="1"'),
        row(3, '', ' hidden="1"'),
        row(5, '', ' hidden="1"'),
      ),
    },
    ['warning workbook.obstacle Board!2:2'],
  ],
  [
    'cells and rows out of order, on any sheet',
    { sheet: data(row(3, '<c r="B3"/><c r="B3"/>')), other: data(row(2, '<c/><c r="C2"/><c/>'), row(2, '')) },
    ['error workbook.invalid Board!B3', 'error workbook.invalid Other!2:2'],
  ],
  [
    'formulas that Excel could not read',
    {
      sheet: data(row(1, `<c r="C1"><f>${"''".repeat(600)}</f></c>`)),
      other: data(row(1, `<c r="B1"><f>A1+${'1+'.repeat(9_000)}1</f></c><c r="C1"><f>${"''".repeat(600)}</f></c>`)),
    },
    ['error workbook.invalid Board!C1', 'error workbook.invalid Other!B1'],
  ],
  ['nothing in a good sheet', { sheet: data(row(4, '<c r="B4"><f>SUM(A$2:A4)</f></c>')), other: merge('A1:A9') }, []],
])('finds %s', async (_, example, expected) => expect(await problemsOf(example)).toEqual(expected));
