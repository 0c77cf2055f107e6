import { Readable } from 'node:stream';
import type { CellValue } from '../../../../src/features/workbook-template/binding/bindings.ts';
import { fillSheet } from '../../../../src/features/workbook-template/fill/sheet/fill-sheet.ts';
import { scanSheet } from '../../../../src/features/workbook-template/fill/sheet/scan-sheet.ts';
import { collectFills, type TableFill } from '../../../../src/features/workbook-template/fill/sheet/sheet-fill.ts';
import { planGrowth } from '../../../../src/features/workbook-template/growth/plan-growth.ts';
import { createReferenceMap } from '../../../../src/features/workbook-template/growth/reference-map.ts';
import type { TemplatePackage } from '../../../../src/features/workbook-template/package/template-package.ts';
import { parseRange, parseSheetRange } from '../../../../src/features/workbook-template/workbook/addresses.ts';
import type { TemplateTable, TemplateWorkbook } from '../../../../src/features/workbook-template/workbook/workbook.ts';

export const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';

/** A table of the sheet `Board`. A column that belongs to the template starts with `=` (its formula) or `!`. */
export interface SampleTable {
  readonly name?: string;
  readonly range: string;
  readonly columns: readonly string[];
  readonly totals?: boolean;
  readonly rows: readonly (readonly CellValue[])[];
  /** Set for a list. */
  readonly clearsSamples?: boolean;
}

export interface Sample {
  /** The content of `sheetData`, or the whole document. */
  readonly xml: string;
  readonly tables?: readonly SampleTable[];
  /** Values by the address of the named cell. */
  readonly names?: Readonly<Record<string, CellValue>>;
  readonly date1904?: boolean;
}

const part = 'xl/worksheets/sheet1.xml';

/** A package of one worksheet, in memory. */
const packageOf = (xml: string): TemplatePackage => ({
  file: 'board.xlsx',
  parts: [part],
  has: (name) => name === part,
  contentType: () => undefined,
  relationships: () => Promise.resolve([]),
  readText: () => Promise.resolve(xml),
  // Small pieces, which split tags and characters.
  openPart: () =>
    Promise.resolve(
      Readable.from(
        Buffer.from(xml)
          .toString('latin1')
          .match(/[\s\S]{1,37}/g)
          ?.map((piece) => Buffer.from(piece, 'latin1')) ?? [],
      ),
    ),
  close: () => Promise.resolve(),
});

const documentOf = (xml: string): string =>
  xml.startsWith('<?xml') || xml.startsWith('<worksheet') || xml.startsWith('<x:')
    ? xml
    : `<worksheet xmlns="${MAIN}"><sheetData>${xml}</sheetData></worksheet>`;

function tableOf({ name = 'board', range, columns, totals = false }: SampleTable): TemplateTable {
  const cells = parseRange(range);
  if (cells === undefined) throw new Error(`${range} is no range`);
  return {
    part: 'xl/tables/table1.xml',
    sheet: 'Board',
    name,
    range: cells,
    headerRows: 1,
    totalsRows: totals ? 1 : 0,
    columns: columns.map((header) => (header.startsWith('=') ? { header, formula: header.slice(1) } : { header })),
  };
}

/** Fills the sheet `Board`. Returns the whole part, and whether it changes at all. */
export async function fillSample({
  xml,
  tables = [],
  names = {},
  date1904 = false,
}: Sample): Promise<{ xml: string; changes: boolean }> {
  const template = packageOf(documentOf(xml));
  const fills = tables.map(
    (table): TableFill => ({
      table: tableOf(table),
      bound: table.columns.map((header) => !/^[=!]/.test(header)),
      length: table.rows.length,
      clearsSamples: table.clearsSamples === true,
      rows: table.rows,
    }),
  );
  const plan = planGrowth(fills.map(({ table, length }) => ({ table, rows: length })));
  const map = createReferenceMap(plan);
  const workbook: TemplateWorkbook = {
    sheets: [{ name: 'Board', part, kind: 'worksheet' }],
    tables: fills.map(({ table }) => table),
    names: [],
    date1904,
    macros: false,
  };
  const values = Object.entries(names).map(([cell, value]) => {
    const target = parseSheetRange(`Board!${cell}`);
    return {
      name: { name: 'docket.org', scope: null, formula: `Board!${cell}`, ...(target ? { target } : {}) },
      value,
    };
  });
  const [fill] = collectFills(workbook, plan, fills, values);
  if (fill === undefined) throw new Error('the sheet is no worksheet');
  const scan = await scanSheet(template, fill, { plan, map });
  let filled = '';
  for await (const piece of fillSheet(template, fill, scan, { plan, map, date1904 })) filled += piece;
  return { xml: filled, changes: scan.changes };
}

/** The content of `sheetData`. */
export const dataOf = (xml: string): string => /<(?:x:)?sheetData>([\s\S]*)<\/(?:x:)?sheetData>/.exec(xml)?.[1] ?? '';
