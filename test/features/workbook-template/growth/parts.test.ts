import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import type { CellValue } from '../../../../src/features/workbook-template/binding/bindings.ts';
import { mapWorkbookPart } from '../../../../src/features/workbook-template/growth/map-parts.ts';
import type { BoundCells } from '../../../../src/features/workbook-template/growth/parts/cached/chart-points.ts';
import {
  createDataMap,
  mapChartex,
} from '../../../../src/features/workbook-template/growth/parts/cached/charts-and-pivots.ts';
import { mapChart } from '../../../../src/features/workbook-template/growth/parts/cached/map-chart.ts';
import {
  mapPivotCache,
  mapPivotTable,
} from '../../../../src/features/workbook-template/growth/parts/cached/map-pivot.ts';
import {
  mapConnections,
  mapNamedViews,
  mapSingleXmlCells,
} from '../../../../src/features/workbook-template/growth/parts/map-cell-lists.ts';
import {
  lastRowOfKeptSizes,
  mapChartShapes,
  mapDrawing,
} from '../../../../src/features/workbook-template/growth/parts/map-drawing.ts';
import { mapTable } from '../../../../src/features/workbook-template/growth/parts/map-tables.ts';
import { mapVml } from '../../../../src/features/workbook-template/growth/parts/map-vml.ts';
import { readRowHeights } from '../../../../src/features/workbook-template/growth/parts/row-heights.ts';
import {
  mapComments,
  mapControl,
  moveComments,
} from '../../../../src/features/workbook-template/growth/parts/sheet-parts.ts';
import { createReferenceMap } from '../../../../src/features/workbook-template/growth/reference-map.ts';
import { parseRange } from '../../../../src/features/workbook-template/workbook/addresses.ts';
import type { DefinedName } from '../../../../src/features/workbook-template/workbook/workbook.ts';

/** The table `Data!A4:B7` with data in rows 5 to 7 gets five rows: two are inserted after row 7. */
const table = { name: 'created', fromColumn: 1, toColumn: 2, totalsRow: false };
const plan = new Map([['Data', [{ first: 5, last: 7, rows: 5, tables: [table] }]]]);
const map = createReferenceMap(plan);

/** Column A holds text and column B numbers, in rows 5 to 9. */
const cells: BoundCells = {
  values: (sheet, { from, to }) => {
    if (sheet !== 'Data' || from.row < 5 || to.row > 9 || to.column > 2) return undefined;
    const values: CellValue[] = [];
    for (let row = from.row; row <= to.row; row += 1) {
      for (let column = from.column; column <= to.column; column += 1) values.push(column === 1 ? `<${row}>` : row);
    }
    return values;
  },
  touches: (sheet, { from, to }) => sheet === 'Data' && from.row <= 9 && to.row >= 5 && from.column <= 2,
};
const name = (text: string, formula: string): DefinedName => ({ name: text, scope: null, formula });
const sources = {
  map: createDataMap(map, plan),
  nameMap: map,
  cells,
  names: [name('Months', 'Data!$A$5:$A$7'), name('Latest', 'OFFSET(Data!$B$5,0,0,3)')],
  tables: [{ name: 'created', sheet: 'Data', range: parseRange('A4:B7')! }],
  date1904: false,
  computed: (sheet: string) => sheet === 'Computed',
};
const part = (text: string) => ({ name: 'part.xml', text });

test('series of charts follow names, areas, filters, levels and labels, and get new caches', () => {
  const cache = '<c:strCache><c:ptCount val="1"/><c:pt idx="0"><c:v>old</c:v></c:pt></c:strCache>';
  const numbers = '<c:numCache><c:formatCode>0.0</c:formatCode><c:ptCount val="1"/></c:numCache>';
  const chart = (inside: string): string | undefined => mapChart(part(`<c:chart>${inside}</c:chart>`), sources);
  const texts = [5, 6, 7, 8, 9].map((row, at) => `<c:pt idx="${at}"><c:v>&lt;${row}&gt;</c:v></c:pt>`).join('');

  expect(chart(`<c:cat><c:strRef><c:f>[0]!Months</c:f>${cache}</c:strRef></c:cat>`)).toBe(
    `<c:chart><c:cat><c:strRef><c:f>[0]!Months</c:f><c:strCache><c:ptCount val="5"/>${texts}</c:strCache></c:strRef></c:cat></c:chart>`,
  );
  expect(chart(`<c:val><c:numRef><c:f>[0]!Latest</c:f>${numbers}</c:numRef></c:val>`)).toBe(
    '<c:chart><c:val><c:numRef><c:f>[0]!Latest</c:f></c:numRef></c:val></c:chart>',
  );
  expect(chart(`<c:val><c:numRef><c:f>(Data!$B$5,Data!$B$7)</c:f>${numbers}</c:numRef></c:val>`)).toContain(
    '<c:f>(Data!$B$5,Data!$B$7:$B$9)</c:f><c:numCache><c:formatCode>0.0</c:formatCode><c:ptCount val="4"/>',
  );
  expect(
    chart(
      `<c:val><c:numRef><c:extLst><c:ext><c15:formulaRef><c15:sqref>Data!$B$5:$B$7</c15:sqref></c15:formulaRef></c:ext></c:extLst>${numbers}</c:numRef></c:val>`,
    ),
  ).toContain(
    '<c15:sqref>Data!$B$5:$B$9</c15:sqref></c15:formulaRef></c:ext></c:extLst><c:numCache><c:formatCode>0.0</c:formatCode><c:ptCount val="5"/>',
  );
  expect(
    chart(
      '<c:cat><c:multiLvlStrRef><c:f>Data!$A$7:$A$7</c:f><c:multiLvlStrCache><c:ptCount val="1"/><c:lvl/></c:multiLvlStrCache></c:multiLvlStrRef></c:cat>',
    ),
  ).toContain(
    '<c:ptCount val="3"/><c:lvl><c:pt idx="0"><c:v>&lt;7&gt;</c:v></c:pt><c:pt idx="1"><c:v>&lt;8&gt;</c:v></c:pt><c:pt idx="2"><c:v>&lt;9&gt;</c:v></c:pt></c:lvl>',
  );
  expect(
    chart(
      '<c15:datalabelsRange><c15:f>Data!$A$5:$A$7</c15:f><c15:dlblRangeCache><c:ptCount val="0"/></c15:dlblRangeCache></c15:datalabelsRange>',
    ),
  ).toContain('<c15:f>Data!$A$5:$A$9</c15:f><c15:dlblRangeCache>');
  // A number cache over text is dropped for Excel to fill. Caches over cells without formulas and broken references stay.
  expect(chart(`<c:val><c:numRef><c:f>Data!$A$5:$A$7</c:f>${numbers}</c:numRef></c:val>`)).not.toContain('numCache');
  expect(chart(`<c:val><c:numRef><c:f>Other!$A$5:$A$7</c:f>${numbers}</c:numRef></c:val>`)).toBeUndefined();
  // No data comes beside the table, so the cache stays valid.
  expect(chart(`<c:val><c:numRef><c:f>Data!$H$5:$H$7</c:f>${numbers}</c:numRef></c:val>`)).toBeUndefined();
  expect(chart(`<c:val><c:numRef><c:f>#REF!</c:f>${numbers}</c:numRef></c:val>`)).toBeUndefined();
  expect(chart(`<c:val><c:numRef><c:f>Computed!$A$5:$A$7</c:f>${numbers}</c:numRef></c:val>`)).not.toContain(
    'numCache',
  );
});

test('dates in charts count from the first day of the workbook', () => {
  const dated = { ...sources, cells: { ...cells, values: () => [{ serial: 46_023 }] }, date1904: true };
  const chart = '<c:cat><c:numRef><c:f>Data!$A$5</c:f><c:numCache><c:ptCount val="0"/></c:numCache></c:numRef></c:cat>';
  expect(mapChart(part(chart), dated)).toContain('<c:v>44561</c:v>');
});

test('newer charts (cx) follow their data', () => {
  const chart = (inside: string): string | undefined => mapChartex(part(`<cx:data>${inside}</cx:data>`), sources);
  expect(
    chart(
      '<cx:numDim type="val"><cx:f>Data!$B$5:$B$7</cx:f><cx:lvl ptCount="1" formatCode="0"><cx:pt idx="0">1</cx:pt></cx:lvl></cx:numDim>',
    ),
  ).toBe(
    '<cx:data><cx:numDim type="val"><cx:f>Data!$B$5:$B$9</cx:f><cx:lvl ptCount="5" formatCode="0"><cx:pt idx="0">5</cx:pt><cx:pt idx="1">6</cx:pt><cx:pt idx="2">7</cx:pt><cx:pt idx="3">8</cx:pt><cx:pt idx="4">9</cx:pt></cx:lvl></cx:numDim></cx:data>',
  );
  expect(chart('<cx:txData><cx:f>Data!$B$7</cx:f><cx:v>3</cx:v></cx:txData>')).toBe(
    '<cx:data><cx:txData><cx:f>Data!$B$7</cx:f></cx:txData></cx:data>',
  );
});

test('names of the workbook and of charts follow, and the workbook is calculated on load', () => {
  const xml =
    '<workbook><sheets/><definedNames><definedName name="_xlchart.v1.0" hidden="1">Data!$B$7</definedName><definedName name="Last">Data!$B$7</definedName><definedName name="Rows" localSheetId="0">SUM(A5:A7)&amp;"A7"</definedName></definedNames><oleSize ref="A1"/></workbook>';
  const sheets = [{ name: 'Data', part: 'xl/worksheets/sheet1.xml', kind: 'worksheet' as const }];
  expect(mapWorkbookPart(part(xml), { sheets }, new Set(['_xlchart.v1.0']), map)).toBe(
    '<workbook><sheets/><definedNames><definedName name="_xlchart.v1.0" hidden="1">Data!$B$7:$B$9</definedName><definedName name="Last">Data!$B$7</definedName><definedName name="Rows" localSheetId="0">SUM(A5:A9)&amp;"A7"</definedName></definedNames><calcPr fullCalcOnLoad="1"/><oleSize ref="A1"/></workbook>',
  );
  expect(mapWorkbookPart(part('<x:workbook><x:sheets/></x:workbook>'), { sheets }, new Set(), map)).toBe(
    '<x:workbook><x:sheets/><x:calcPr fullCalcOnLoad="1"/></x:workbook>',
  );
  const calculated = '<workbook><sheets/><calcPr calcMode="manual" fullCalcOnLoad="1"/></workbook>';
  expect(mapWorkbookPart(part(calculated), { sheets }, new Set(), map)).toBeUndefined();
});

test('pivot caches follow their source and are refreshed', () => {
  const cache = (source: string): string =>
    `<pivotCacheDefinition r:id="rId1"><cacheSource type="worksheet">${source}</cacheSource><cacheFields><worksheetSource ref="A4:B7" sheet="Data"/></cacheFields></pivotCacheDefinition>`;
  expect(mapPivotCache(part(cache('<worksheetSource ref="A4:B7" sheet="Data"/>')), sources)).toMatch(
    /^<pivotCacheDefinition r:id="rId1" refreshOnLoad="1"><cacheSource type="worksheet"><worksheetSource ref="A4:B9" sheet="Data"\/>/,
  );
  for (const source of ['name="created"', 'name="Months"', 'name="Latest"', 'ref="A1:B2" sheet="Computed"']) {
    expect(mapPivotCache(part(cache(`<worksheetSource ${source}/>`)), sources)).toMatch(/rId1" refreshOnLoad="1">/);
  }
  expect(
    mapPivotCache(
      part(
        '<pivotCacheDefinition><cacheSource><worksheetSource ref="A4:B7" sheet="Other"/></cacheSource></pivotCacheDefinition>',
      ),
      sources,
    ),
  ).toBeUndefined();
  const pivot = (ref: string): string =>
    `<pivotTableDefinition><location ref="${ref}" firstHeaderRow="1"/></pivotTableDefinition>`;
  expect(mapPivotTable(part(pivot('D10:E14')), 'Data', map)).toBe(pivot('D12:E16'));
  // This pivot table ends with the last row of data, and does not grow with the table.
  expect(mapPivotTable(part(pivot('D3:E7')), 'Data', map)).toBeUndefined();
});

test('unbound tables move without growing', () => {
  const xml = (ref: string): string => `<table ref="${ref}"><autoFilter ref="${ref}"/></table>`;
  expect(mapTable(part(xml('D4:E7')), 'Data', false, map)).toBeUndefined();
  expect(mapTable(part(xml('A4:B7')), 'Data', true, map)).toBe(xml('A4:B9'));
  expect(mapTable(part(xml('D8:E9')), 'Data', false, map)).toBe(xml('D10:E11'));
});

test('formulas of table columns grow like those of cells', () => {
  const xml = (formula: string, total: string): string =>
    `<table ref="A4:B7"><tableColumn><calculatedColumnFormula>${formula}</calculatedColumnFormula><totalsRowFormula>${total}</totalsRowFormula></tableColumn></table>`;
  expect(mapTable(part(xml('SUM(A$5:A7)/SUM(A$5:A$7)', 'SUM(A5:A7)')), 'Data', true, map)).toBe(
    xml('SUM(A$5:A7)/SUM(A$5:A$9)', 'SUM(A5:A9)').replace('A4:B7', 'A4:B9'),
  );
});

test('comments, controls, XML maps, connection parameters and saved views move with their cells', () => {
  const moved = moveComments(['B7', 'B8'], 'Data', map);
  expect(mapComments(part('<T><threadedComment ref="B8"/><threadedComment ref="B8" parentId="1"/></T>'), moved)).toBe(
    '<T><threadedComment ref="B10"/><threadedComment ref="B10" parentId="1"/></T>',
  );
  expect(mapControl(part('<formControlPr fmlaLink="$D$9" fmlaRange="Data!$A$7"/>'), 'Data', map)).toBe(
    '<formControlPr fmlaLink="$D$11" fmlaRange="Data!$A$7:$A$9"/>',
  );
  expect(mapSingleXmlCells(part('<singleXmlCells><singleXmlCell r="B9"/></singleXmlCells>'), 'Data', map)).toContain(
    '"B11"',
  );
  expect(mapConnections(part('<connections><parameter cell="Data!$B$9"/></connections>'), map)).toContain(
    '"Data!$B$11"',
  );
  const view = (ref: string): string => `<namedSheetView><nsvFilter ref="${ref}"/></namedSheetView>`;
  const bound = [parseRange('A4:B7')!];
  expect(mapNamedViews(part(view('A4:B7')), 'Data', bound, map)).toBe(view('A4:B9'));
  expect(mapNamedViews(part(view('D4:E7')), 'Data', bound, map)).toBeUndefined();
});

test('VML that is not well-formed XML moves with its cells', () => {
  const control = (anchor: string, more: string, link: string): string =>
    `<v:shape><div>Text<br>Text</div><x:ClientData ObjectType="Drop"><x:Anchor>\n${anchor}</x:Anchor>${more}<x:FmlaLink>${link}</x:FmlaLink></x:ClientData></v:shape>`;
  const moves = '<x:SizeWithCells/>';
  expect(mapVml(control('1, 0, 4, 0, 3, 0, 9, 0', moves, '$D$9'), 'Data', new Map(), map)).toBe(
    control('1, 0, 4, 0, 3, 0, 9, 0', moves, '$D$11'),
  );
  expect(mapVml(control('1, 0, 4, 0, 3, 0, 9, 0', '', "'R&amp;D'!$D$9"), 'Data', new Map(), map)).toContain(
    '1, 0, 4, 0, 3, 0, 11, 0',
  );
  expect(mapVml(control('1, 0, 8, 0, 3, 0, 9, 0', '<x:MoveWithCells/>', 'A1'), 'Data', new Map(), map)).toBeUndefined();
  expect(mapVml('<x:ClientData ObjectType="Note">', 'Data', new Map(), map)).toBeUndefined();
});

test('pictures of cells and shapes inside charts follow their references', () => {
  const picture =
    '<xdr:wsDr><xdr:pic><a14:cameraTool cellRange="Data!$A$4:$B$7" spid="_x0000_s1"/></xdr:pic></xdr:wsDr>';
  expect(mapDrawing(part(picture), 'Data', map)).toContain('cellRange="Data!$A$4:$B$9"');
  const shapes =
    '<c:userShapes><cdr:relSizeAnchor><cdr:from><cdr:x>0</cdr:x></cdr:from><cdr:sp textlink="Data!$B$9"/></cdr:relSizeAnchor></c:userShapes>';
  expect(mapChartShapes(part(shapes), map)).toContain('textlink="Data!$B$11"');
});

test('a drawing that is not sized with cells keeps its height among rows of other heights', () => {
  const drawing = (anchor: string): string => `<xdr:wsDr>${anchor}</xdr:wsDr>`;
  const anchor = (editAs: string, to: string): string =>
    drawing(
      `<xdr:twoCellAnchor editAs="${editAs}"><xdr:from><xdr:row>4</xdr:row><xdr:rowOff>100</xdr:rowOff></xdr:from><xdr:to>${to}</xdr:to></xdr:twoCellAnchor>`,
    );
  const at = (row: number, offset: number): string => `<xdr:row>${row}</xdr:row><xdr:rowOff>${offset}</xdr:rowOff>`;
  // Rows of data are twice as high as the rows below: rows 5 to 7, and rows 5 to 9 in the filled workbook.
  const heights = {
    before: (row: number) => (row <= 7 ? 2000 : 1000),
    after: (row: number) => (row <= 9 ? 2000 : 1000),
  };
  const template = part(anchor('oneCell', at(9, 300)));
  expect(mapDrawing(template, 'Data', map, heights)).toBe(anchor('oneCell', at(8, 300)));
  expect(mapDrawing(template, 'Data', map)).toBeUndefined();
  expect(mapDrawing(part(anchor('twoCell', at(9, 300))), 'Data', map, heights)).toBe(anchor('twoCell', at(11, 300)));
  expect(lastRowOfKeptSizes(template, 'Data', map)).toBe(10);
});

test('row heights are known for the template and for the filled workbook', async () => {
  const sheet =
    '<worksheet><sheetFormatPr defaultRowHeight="10"/><sheetData><row r="7" ht="20.5"/><row r="8" hidden="1"/><row ht="30"/><row r="10" ht="99"/></sheetData></worksheet>';
  const bands = [{ first: 5, last: 7, rows: 5, tables: [table] }];
  const source = { openPart: async () => Readable.from([Buffer.from(sheet)]) };
  const { before, after } = await readRowHeights(source, 'sheet1.xml', bands, 9);
  const points = (heights: number[]): number[] => heights.map((height) => height / 12_700);
  expect(points([6, 7, 8, 9].map(before))).toEqual([10, 20.5, 0, 30]);
  expect(points([6, 7, 8, 9, 10, 11].map(after))).toEqual([10, 20.5, 20.5, 20.5, 0, 30]);
});
