import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { CellValue } from '../../../../src/features/workbook-template/binding/bindings.ts';
import { mapParts } from '../../../../src/features/workbook-template/growth/map-parts.ts';
import type { BoundCells } from '../../../../src/features/workbook-template/growth/parts/cached/chart-points.ts';
import { findStretchedDrawings } from '../../../../src/features/workbook-template/growth/parts/find-stretched-drawings.ts';
import { planGrowth } from '../../../../src/features/workbook-template/growth/plan-growth.ts';
import { createReferenceMap } from '../../../../src/features/workbook-template/growth/reference-map.ts';
import { openPackage } from '../../../../src/features/workbook-template/package/open-package.ts';
import { readWorkbook } from '../../../../src/features/workbook-template/workbook/read-workbook.ts';

const FOLDER = join(import.meta.dirname, '../../../recorded/workbook-parts');

/** Rows of data of the table `created`: text in the first column, the row number in the second. */
function boundRows(sheet: string, first: number, rows: number): BoundCells {
  const value = (row: number, column: number): CellValue | undefined => {
    if (row < first || row >= first + rows || column > 2) return undefined;
    return column === 1 ? `month ${row - first + 1}` : row - first + 1;
  };
  return {
    values: (name, { from, to }) => {
      const values: CellValue[] = [];
      for (let row = from.row; row <= to.row; row += 1) {
        for (let column = from.column; column <= to.column; column += 1) {
          const one = name === sheet ? value(row, column) : undefined;
          if (one === undefined) return undefined;
          values.push(one);
        }
      }
      return values;
    },
    touches: (name, { from, to }) => name === sheet && from.row < first + rows && first <= to.row && from.column <= 2,
  };
}

/** The parts that `mapParts` changes when the table `created` gets this many rows, and all texts of the template. */
async function grow(file: string, first: number, rows: number) {
  const template = await openPackage(join(FOLDER, file), file);
  try {
    const workbook = await readWorkbook(template);
    const table = workbook.tables.find(({ name }) => name === 'created')!;
    const plan = planGrowth([{ table, rows }]);
    const map = createReferenceMap(plan);
    const cells = boundRows(table.sheet, first, Math.max(1, rows));
    const changes = await mapParts({ template, workbook, plan, map, cells });
    const text = async (part: string): Promise<string> => changes.get(part) ?? (await template.readText(part));
    const texts = new Map<string, string>();
    for (const part of template.parts.filter((one) => /\.(xml|rels|vml)$/.test(one))) texts.set(part, await text(part));
    return { changed: [...changes.keys()].sort(), texts };
  } finally {
    await template.close();
  }
}

/** Every match of a pattern, for example the content of an element or an attribute. */
const all = (text: string | undefined, pattern: RegExp): string[] =>
  [...(text ?? '').matchAll(pattern)].map(([, found]) => found ?? '');

test('parts made by XlsxWriter follow a table that grows', async () => {
  const { changed, texts } = await grow('xlsxwriter.xlsx', 5, 5);
  // Chart 3 shows another sheet, and drawing 2 is on that sheet.
  expect(changed).toEqual([
    'xl/charts/chart1.xml',
    'xl/charts/chart2.xml',
    'xl/comments1.xml',
    'xl/drawings/_rels/drawing1.xml.rels',
    'xl/drawings/drawing1.xml',
    'xl/drawings/vmlDrawing1.vml',
    'xl/tables/table1.xml',
    'xl/tables/table2.xml',
    'xl/workbook.xml',
  ]);
  expect(all(texts.get('xl/workbook.xml'), />('Board pack'![^<]*)</g)).toEqual([
    "'Board pack'!$B$5:$B$9",
    // A name of a single cell stays with it, even in the last row.
    "'Board pack'!$B$7",
    "'Board pack'!$A$1:$F$26",
    "'Board pack'!$4:$4",
    "'Board pack'!$F$22",
  ]);
  expect(all(texts.get('xl/tables/table1.xml'), /ref="([^"]*)"/g)).toEqual(['A4:C10', 'A4:C9']);
  expect(texts.get('xl/tables/table1.xml')).toContain("/'Board pack'!$F$22</calculatedColumnFormula>");
  expect(all(texts.get('xl/tables/table2.xml'), /ref="([^"]*)"/g)).toEqual(['E24:F26', 'E24:F26']);
  expect(all(texts.get('xl/drawings/_rels/drawing1.xml.rels'), /Target="(#[^"]*)"/g)).toEqual(["#'Board pack'!F22"]);

  const drawing = texts.get('xl/drawings/drawing1.xml');
  expect(all(drawing, /<xdr:row>(\d+)</g).map(Number)).toEqual([
    // The picture below the table, and the chart beside it, which is sized with its cells.
    ...[21, 21],
    ...[1, 17],
    ...[31, 45],
    ...[21, 27],
    // This one is neither moved nor sized.
    ...[1, 7],
  ]);
  expect(all(drawing, /textlink="([^"]+)"/g)).toEqual(["'Board pack'!$F$22"]);

  expect(all(texts.get('xl/comments1.xml'), /<comment ref="([^"]*)"/g)).toEqual(['B6', 'B10', 'F22']);
  const vml = texts.get('xl/drawings/vmlDrawing1.vml');
  expect(all(vml, /<x:Row>(\d+)</g)).toEqual(['5', '9', '21']);
  expect(all(vml, /<x:Anchor>([^<]*)</g)).toEqual([
    '7, 0, 13, 0, 8, 0, 14, 0',
    '2, 15, 4, 10, 4, 15, 8, 4',
    '2, 15, 8, 10, 4, 15, 12, 4',
    '6, 15, 20, 10, 8, 15, 24, 4',
  ]);
});

test('charts store the values of bound cells, and none of cells with a formula', async () => {
  const { texts } = await grow('xlsxwriter.xlsx', 5, 4);
  const chart = texts.get('xl/charts/chart1.xml') ?? '';
  expect(all(chart, /<c:f>([^<]*)</g)).toEqual([
    "'Board pack'!$F$21",
    "'Board pack'!$B$4",
    "'Board pack'!$F$21",
    "'Board pack'!$C$5:$C$8",
    "'Board pack'!$A$5:$A$8",
    "'Board pack'!$B$5:$B$8",
  ]);
  expect(chart).toContain(
    '<c:numCache><c:formatCode>General</c:formatCode><c:ptCount val="4"/><c:pt idx="0"><c:v>1</c:v></c:pt><c:pt idx="1"><c:v>2</c:v></c:pt><c:pt idx="2"><c:v>3</c:v></c:pt><c:pt idx="3"><c:v>4</c:v></c:pt></c:numCache></c:numRef></c:val>',
  );
  expect(all(chart, /<c:v>([^<]*)</g)).toEqual([
    // The header of the table. The title and the label show a formula, the error bars a calculated column.
    'onboarding.profiles.created',
    ...['1', '1', '1'],
    ...['month 1', 'month 2', 'month 3', 'month 4'],
    ...['1', '2', '3', '4'],
  ]);
  // The cells of this chart only moved.
  expect(all(texts.get('xl/charts/chart2.xml'), /<c:(?:f|v)>([^<]*)</g)).toEqual([
    ...["'Board pack'!$E$24:$E$25", 'a', 'b'],
    ...["'Board pack'!$F$24:$F$25", '1', '2'],
  ]);
});

test('a table that shrinks moves its totals row up, and drops comments of removed rows', async () => {
  const { changed, texts } = await grow('xlsxwriter.xlsx', 5, 1);
  expect(all(texts.get('xl/tables/table1.xml'), /ref="([^"]*)"/g)).toEqual(['A4:C6', 'A4:C5']);
  expect(all(texts.get('xl/comments1.xml'), /<comment ref="([^"]*)"/g)).toEqual(['B6', 'F20']);
  expect(texts.get('xl/comments1.xml')).not.toContain('Sample');
  const vml = texts.get('xl/drawings/vmlDrawing1.vml');
  expect(all(vml, /<x:Row>(\d+)</g)).toEqual(['5', '19']);
  expect(all(vml, /id="(_x0000_s\d+)"/g)).toEqual(['_x0000_s1025', '_x0000_s1027', '_x0000_s1028']);
  expect(changed).not.toContain('xl/drawings/drawing1.xml');
  expect(changed).not.toContain('xl/tables/table2.xml');
});

test('a table that keeps its size changes only the charts that show it', async () => {
  const { changed, texts } = await grow('xlsxwriter.xlsx', 5, 3);
  expect(changed).toEqual(['xl/charts/chart1.xml']);
  expect(texts.get('xl/workbook.xml')).toContain('fullCalcOnLoad="1"');
});

test('parts made by openpyxl follow a table that grows', async () => {
  const { changed, texts } = await grow('openpyxl.xlsx', 2, 10);
  expect(changed).toEqual([
    'xl/charts/chart1.xml',
    'xl/comments/comment1.xml',
    'xl/drawings/commentsDrawing1.vml',
    'xl/drawings/drawing1.xml',
    'xl/tables/table1.xml',
  ]);
  expect(all(texts.get('xl/charts/chart1.xml'), /<f>([^<]*)</g)).toEqual([
    "'Data'!B1",
    "'Data'!$A$2:$A$11",
    "'Data'!$B$2:$B$11",
  ]);
  expect(all(texts.get('xl/tables/table1.xml'), /ref="([^"]*)"/g)).toEqual(['A1:B11', 'A1:B11']);
  expect(all(texts.get('xl/drawings/drawing1.xml'), /<row>(\d+)</g)).toEqual(['14']);
  expect(all(texts.get('xl/drawings/commentsDrawing1.vml'), /<ns2:Row>(\d+)</g)).toEqual(['12']);
});

test('a warning names a chart beside a table that would be stretched, but no other drawing', async () => {
  const template = await openPackage(join(FOLDER, 'xlsxwriter.xlsx'), 'xlsxwriter.xlsx');
  try {
    const { sheets, tables } = await readWorkbook(template);
    const bound = tables.filter(({ name }) => name === 'created');
    const problems = await findStretchedDrawings(template, sheets[0]!, bound);
    expect(problems.map(({ severity, at }) => [severity, at])).toEqual([
      ['warning', { sheet: 'Board pack', cell: 'E2:L16' }],
    ]);
  } finally {
    await template.close();
  }
});
