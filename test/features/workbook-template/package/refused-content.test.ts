import { describe, expect, test } from 'vitest';
import { findRefusedContent } from '../../../../src/features/workbook-template/package/refused-content.ts';
import type { TemplateProblem } from '../../../../src/features/workbook-template/template-problem.ts';
import { minimalParts, openBytes, relationship, relationships, zipped } from '../support/template-package.ts';

type Parts = Parameters<typeof zipped>[0];

const problemsOf = async (parts: Parts): Promise<readonly TemplateProblem[]> =>
  findRefusedContent(await openBytes(zipped(parts)));

const sheetWith = (formula: string): Parts => ({
  'xl/worksheets/sheet1.xml': `<worksheet><sheetData><row r="7"><c r="C7"><f>${formula}</f></c></row></sheetData></worksheet>`,
});
const workbookWith = (...each: readonly string[]): Parts => ({
  'xl/_rels/workbook.xml.rels': relationships(relationship('rId1', 'worksheet', 'worksheets/sheet1.xml'), ...each),
});
const types = (...overrides: readonly [string, string][]): Parts => ({
  '[Content_Types].xml': minimalParts()['[Content_Types].xml']!.replace(
    '</Types>',
    `${overrides.map(([part, type]) => `<Override PartName="/${part}" ContentType="${type}"/>`).join('')}</Types>`,
  ),
});
const link = (content: string): Parts => ({
  ...workbookWith(relationship('rId9', 'externalLink', 'externalLinks/externalLink1.xml')),
  'xl/externalLinks/externalLink1.xml': `<externalLink>${content}</externalLink>`,
  'xl/externalLinks/_rels/externalLink1.xml.rels': relationships(
    relationship('rId1', 'externalLinkPath', 'file:///C:/figures.xlsx', true),
  ),
});
const onSheet = (...each: readonly string[]): Parts => ({
  'xl/worksheets/_rels/sheet1.xml.rels': relationships(relationship('rId1', 'table', '../tables/table1.xml'), ...each),
});

describe('a template', () => {
  test('without external content has no problems', async () => {
    const fine = `"a|b"&amp;IMAGE_1&amp;'x|y'!A1&amp;intake[[#This Row],[a|b]]&amp;intake[1]&amp;MYIMAGE(1)&amp;"IMAGE(1)"&amp;CONCATENATE("[1]x!",1,"'C:\\\\[x]S'!A1")&amp;[0]!own&amp;'Jan:Dec'!A1&amp;CUBE_1&amp;MYCUBEVALUE(1)&amp;intake[[a]:[b]]&amp;'My ''own'' S'!A1`;
    expect(
      await problemsOf({
        ...sheetWith(fine),
        ...onSheet(
          relationship('rId2', 'hyperlink', 'https://example.com', true),
          relationship('rId3', 'hyperlink', '#Board!A1'),
        ),
      }),
    ).toEqual([]);
  });

  test.each<[string, Parts, TemplateProblem['at']]>([
    ['DDE in a cell', sheetWith("cmd|'/c calc'!A0"), { sheet: 'Board', cell: 'C7' }],
    ['DDE written with an entity', sheetWith("cmd&#124;'/c calc'!A0"), { sheet: 'Board', cell: 'C7' }],
    ['a remote image', sheetWith('_xlfn.IMAGE("https://example.com/a.png")'), { sheet: 'Board', cell: 'C7' }],
    ['a function split by a comment', sheetWith('IM<!-- -->AGE("x")'), { sheet: 'Board', cell: 'C7' }],
    ['a function split by an instruction', sheetWith('IM<?a b?>AGE("x")'), { sheet: 'Board', cell: 'C7' }],
    ['a web service', sheetWith('1+webservice ("https://example.com")'), { sheet: 'Board', cell: 'C7' }],
    ['real-time data', sheetWith('RTD("a",,"b")'), { sheet: 'Board', cell: 'C7' }],
    ['a history of prices', sheetWith('_xlfn.STOCKHISTORY("MSFT",A1)'), { sheet: 'Board', cell: 'C7' }],
    ['a cube', sheetWith('CUBEVALUE("Sales","[Measures].[x]")'), { sheet: 'Board', cell: 'C7' }],
    ['the members of a cube', sheetWith('CUBERANKEDMEMBER("Sales","x",1)'), { sheet: 'Board', cell: 'C7' }],
    ['a query', sheetWith('SQL.REQUEST("DSN=x",,2,"select 1")'), { sheet: 'Board', cell: 'C7' }],
    ['a translation', sheetWith('_xlfn.TRANSLATE("a","en","de")'), { sheet: 'Board', cell: 'C7' }],
    ['Python', sheetWith('_xlfn._xlws.PY(0,1,A1)'), { sheet: 'Board', cell: 'C7' }],
    ['a data type', sheetWith('_xlfn.FIELDVALUE(A1,"Price")'), { sheet: 'Board', cell: 'C7' }],
    ['a workbook on a server', sheetWith("'\\\\host\\share\\[x.xlsx]My data'!$A$1"), { sheet: 'Board', cell: 'C7' }],
    ['a workbook on the web', sheetWith("SUM('https://example.com/[x.xlsx]S'!A1:A9)"), { sheet: 'Board', cell: 'C7' }],
    ['imported text', sheetWith('_xlfn.IMPORTTEXT("C:\\a.txt")'), { sheet: 'Board', cell: 'C7' }],
    ['an imported table', sheetWith('_xlfn.IMPORTCSV("https://example.com/a.csv")'), { sheet: 'Board', cell: 'C7' }],
    ['DDE in LibreOffice', sheetWith('DDE("soffice","a.ods","A1")'), { sheet: 'Board', cell: 'C7' }],
    ['an add-in', sheetWith('_xll.BDP("x","PX_LAST")'), { sheet: 'Board', cell: 'C7' }],
    ['sheets of another workbook', sheetWith('SUM([x.xlsx]Jan:Dec!A1)'), { sheet: 'Board', cell: 'C7' }],
    ['another workbook by name', sheetWith('1+[x.xlsx]Data!A1'), { sheet: 'Board', cell: 'C7' }],
    ['a name of another workbook', sheetWith("'C:\\x.xlsx'!rate*2"), { sheet: 'Board', cell: 'C7' }],
    [
      'a workbook on a server in a conditional format',
      {
        'xl/worksheets/sheet1.xml':
          '<worksheet><sheetData/><conditionalFormatting sqref="A1"><cfRule type="expression"><formula>\'\\\\h\\[x.xlsx]S\'!A1&gt;1</formula></cfRule></conditionalFormatting></worksheet>',
      },
      { sheet: 'Board' },
    ],
    [
      'a workbook on a server as the limit of an icon',
      {
        'xl/worksheets/sheet1.xml':
          '<worksheet><sheetData/><cfRule><iconSet><cfvo type="formula" val="[x.xlsx]S!$A$1"/></iconSet></cfRule></worksheet>',
      },
      { sheet: 'Board' },
    ],
    [
      'a workbook on a server in a validation',
      {
        'xl/worksheets/sheet1.xml':
          "<worksheet><sheetData/><dataValidations><dataValidation><formula1>'\\\\h\\[x.xlsx]S'!$A$1:$A$9</formula1></dataValidation></dataValidations></worksheet>",
      },
      { sheet: 'Board' },
    ],
    [
      'a workbook on a server in a chart',
      {
        ...types(
          ['xl/drawings/drawing1.xml', 'application/vnd.openxmlformats-officedocument.drawing+xml'],
          ['xl/charts/chart1.xml', 'application/vnd.openxmlformats-officedocument.drawingml.chart+xml'],
        ),
        ...onSheet(relationship('rId2', 'drawing', '../drawings/drawing1.xml')),
        'xl/drawings/drawing1.xml': '<x:wsDr/>',
        'xl/drawings/_rels/drawing1.xml.rels': relationships(relationship('rId1', 'chart', '../charts/chart1.xml')),
        'xl/charts/chart1.xml': "<c:chartSpace><c:f>'\\\\h\\[x.xlsx]S'!$A$1:$A$9</c:f></c:chartSpace>",
      },
      { sheet: 'Board' },
    ],
    [
      'a workbook on a server in a shape',
      {
        ...types(['xl/drawings/drawing1.xml', 'application/vnd.openxmlformats-officedocument.drawing+xml']),
        ...onSheet(relationship('rId2', 'drawing', '../drawings/drawing1.xml')),
        'xl/drawings/drawing1.xml': '<x:wsDr><x:sp textlink="[x.xlsx]S!$A$1"/></x:wsDr>',
      },
      { sheet: 'Board' },
    ],
    [
      'a workbook on a server in a shape of a chart',
      {
        ...types(
          ['xl/drawings/drawing1.xml', 'application/vnd.openxmlformats-officedocument.drawing+xml'],
          ['xl/charts/chart1.xml', 'application/vnd.openxmlformats-officedocument.drawingml.chart+xml'],
          ['xl/drawings/drawing2.xml', 'application/vnd.openxmlformats-officedocument.drawingml.chartshapes+xml'],
        ),
        ...onSheet(relationship('rId2', 'drawing', '../drawings/drawing1.xml')),
        'xl/drawings/drawing1.xml': '<x:wsDr/>',
        'xl/drawings/_rels/drawing1.xml.rels': relationships(relationship('rId1', 'chart', '../charts/chart1.xml')),
        'xl/charts/chart1.xml': '<c:chartSpace/>',
        'xl/charts/_rels/chart1.xml.rels': relationships(
          relationship('rId1', 'chartUserShapes', '../drawings/drawing2.xml'),
        ),
        'xl/drawings/drawing2.xml': '<c:userShapes><cdr:sp textlink="[x.xlsx]S!$A$1"/></c:userShapes>',
      },
      { sheet: 'Board' },
    ],
    [
      'a workbook on a server in a form control of VML',
      {
        ...types(['xl/drawings/vmlDrawing1.vml', 'application/vnd.openxmlformats-officedocument.vmlDrawing']),
        ...onSheet(relationship('rId2', 'vmlDrawing', '../drawings/vmlDrawing1.vml')),
        'xl/drawings/vmlDrawing1.vml':
          "<xml><br><x:ClientData><x:FmlaRange>'\\\\h\\[x.xlsx]S'!$A$1:$A$9</x:FmlaRange></x:ClientData></xml>",
      },
      { sheet: 'Board' },
    ],
    [
      'DDE in a name',
      { 'xl/workbook.xml': minimalParts()['xl/workbook.xml']!.replace('board!$B$2', "cmd|'/c calc'!A0") },
      undefined,
    ],
    [
      'a linked workbook that a cell uses',
      { ...link('<externalBook r:id="rId1"/>'), ...sheetWith("SUM('[1]My figures'!A1:A3)") },
      { sheet: 'Board', cell: 'C7' },
    ],
    ['a linked workbook that nothing uses', link('<externalBook r:id="rId1"/>'), undefined],
    ['a DDE link', link('<ddeLink ddeService="cmd" ddeTopic="/c calc"/>'), undefined],
    ['an OLE link', link('<oleLink r:id="rId1" progId="Word"/>'), undefined],
    [
      'a linked picture',
      {
        ...types(['xl/drawings/drawing1.xml', 'application/vnd.openxmlformats-officedocument.drawing+xml']),
        ...onSheet(relationship('rId2', 'drawing', '../drawings/drawing1.xml')),
        'xl/drawings/drawing1.xml':
          '<x:wsDr><x:twoCellAnchor><x:from><x:col>3</x:col><x:colOff>0</x:colOff><x:row>8</x:row></x:from><x:to><x:col>9</x:col><x:row>9</x:row></x:to><a:blip r:link="rId7"/></x:twoCellAnchor></x:wsDr>',
        'xl/drawings/_rels/drawing1.xml.rels': relationships(
          relationship('rId7', 'image', 'https://example.com/a.png', true),
        ),
      },
      { sheet: 'Board', cell: 'D9' },
    ],
    ['a linked object', onSheet(relationship('rId2', 'oleObject', 'file:///C:/a.docx', true)), { sheet: 'Board' }],
    [
      'a remote picture in VML that is not well-formed',
      {
        ...types(['xl/drawings/vml1.vml', 'application/vnd.openxmlformats-officedocument.vmlDrawing']),
        ...onSheet(relationship('rId2', 'vmlDrawing', '../drawings/vml1.vml')),
        'xl/drawings/vml1.vml':
          '<xml><div>a<br></div><v:imagedata o:title="x" src=\'http://example.com/a.png\'/></xml>',
      },
      { sheet: 'Board' },
    ],
    [
      'a pivot table over another workbook',
      {
        ...onSheet(relationship('rId2', 'pivotTable', '../pivotTable1.xml')),
        'xl/pivotTable1.xml': '<a/>',
        'xl/_rels/pivotTable1.xml.rels': relationships(relationship('rId1', 'pivotCacheDefinition', 'cache.xml')),
        'xl/cache.xml': '<a/>',
        'xl/_rels/cache.xml.rels': relationships(
          relationship('rId1', 'externalLinkPath', 'file:///C:/figures.xlsx', true),
        ),
      },
      { sheet: 'Board' },
    ],
    [
      'pictures from the web in cells',
      {
        ...types(['xl/web.xml', 'application/vnd.ms-excel.rdrichvaluewebimage+xml']),
        ...workbookWith(
          relationship(
            'rId2',
            'http://schemas.microsoft.com/office/2020/07/relationships/rdRichValueWebImage',
            'web.xml',
          ),
        ),
        'xl/web.xml': '<a/>',
      },
      undefined,
    ],
  ])('with %s is rejected', async (_, parts, at) => {
    const problems = await problemsOf(parts);
    expect(problems).toEqual([expect.objectContaining({ severity: 'error', code: 'workbook.external' })]);
    expect(problems[0]?.at).toEqual(at);
  });

  test('names every external file once, with the first cell that uses it', async () => {
    const cells = ['B2', 'B3', 'B4'].map((at) => `<c r="${at}"><f>'\\\\host\\[x.xlsx]S'!A1+[1]S!A1</f></c>`);
    const problems = await problemsOf({
      ...workbookWith(
        ...[1, 2, 3].map((nth) =>
          relationship(`rId${nth + 8}`, 'externalLink', `externalLinks/externalLink${nth}.xml`),
        ),
      ),
      ...Object.fromEntries(
        [1, 2, 3].flatMap((nth) => [
          [`xl/externalLinks/externalLink${nth}.xml`, '<externalLink><externalBook r:id="rId1"/></externalLink>'],
          [
            `xl/externalLinks/_rels/externalLink${nth}.xml.rels`,
            relationships(relationship('rId1', 'externalLinkPath', 'file:///C:/figures.xlsx', true)),
          ],
        ]),
      ),
      ...onSheet(
        ...[1, 2, 3].map((nth) => relationship(`rId${nth + 1}`, 'image', 'https://example.com/logo.png', true)),
      ),
      'xl/worksheets/sheet1.xml': `<worksheet><sheetData><row r="2">${cells.join('')}</row></sheetData></worksheet>`,
    });
    expect(problems.map(({ got, at }) => [got, at?.cell])).toEqual([
      [expect.stringContaining('https://example.com/logo.png'), undefined],
      [expect.stringContaining('\\\\host\\x.xlsx'), 'B2'],
      [expect.stringContaining('file:///C:/figures.xlsx'), 'B2'],
    ]);
  });

  test.each<[string, Parts]>([
    [
      'a signature of the whole file',
      {
        '_rels/.rels': relationships(
          relationship('rId1', 'officeDocument', 'xl/workbook.xml'),
          relationship(
            'rId2',
            'http://schemas.openxmlformats.org/package/2006/relationships/digital-signature/origin',
            '_xmlsignatures/origin.xml',
          ),
        ),
        '_xmlsignatures/origin.xml': '',
      },
    ],
    [
      'Excel 4.0 macros',
      { ...workbookWith(relationship('rId2', 'xlMacrosheet', 'macros.xml')), 'xl/macros.xml': '<a/>' },
    ],
    ['a repeated relationship', onSheet(relationship('rId1', 'hyperlink', '#Board!A1'))],
    ['a sheet in UTF-16', { 'xl/worksheets/sheet1.xml': Buffer.from('<worksheet/>', 'utf16le') }],
    ['relationships that are not XML', { 'docProps/_rels/app.xml.rels': '<Relationships>' }],
  ])('with %s is rejected', async (_, parts) => {
    expect(await problemsOf(parts)).toEqual([expect.objectContaining({ severity: 'error', code: 'workbook.invalid' })]);
  });

  test('with two linked workbooks names each with its first cell', async () => {
    const target = (file: string): string =>
      relationships(relationship('rId1', 'externalLinkPath', `file:///C:/${file}`, true));
    const workbook = minimalParts()['xl/workbook.xml']!.replace(
      '<definedNames>',
      '<externalReferences><externalReference r:id="rId8"/><externalReference r:id="rId7"/></externalReferences><definedNames>',
    );
    const problems = await problemsOf({
      ...sheetWith('[2]A!B1+[2]A!B2'),
      ...workbookWith(
        relationship('rId7', 'externalLink', 'link1.xml'),
        relationship('rId8', 'externalLink', 'link2.xml'),
      ),
      'xl/workbook.xml': workbook,
      'xl/link1.xml': '<a/>',
      'xl/link2.xml': '<a/>',
      'xl/_rels/link1.xml.rels': target('one.xlsx'),
      'xl/_rels/link2.xml.rels': target('two.xlsx'),
    });
    expect(problems.map(({ at, got }) => [at, got.includes('one.xlsx')])).toEqual([
      [{ sheet: 'Board', cell: 'C7' }, true],
      [undefined, false],
    ]);
  });

  test('with a damaged part is rejected', async () => {
    const bytes = Buffer.from(zipped({ 'xl/media/a.png': 'png' }));
    const header = bytes.subarray(bytes.lastIndexOf('PK\u0001\u0002'));
    header.writeUInt32LE(1, 16);
    expect(await findRefusedContent(await openBytes(bytes))).toEqual([
      expect.objectContaining({ severity: 'error', code: 'workbook.invalid' }),
    ]);
  });

  test.each<[string, Parts, string]>([
    ['a missing part', onSheet(relationship('rId2', 'drawing', 'NULL')), 'workbook.invalid'],
    [
      'a part without a content type',
      { ...onSheet(relationship('rId2', 'image', '../a.png')), 'xl/a.png': 'png' },
      'workbook.invalid',
    ],
    [
      'data connections',
      { ...workbookWith(relationship('rId2', 'connections', 'connections.xml')), 'xl/connections.xml': '<a/>' },
      'workbook.external',
    ],
  ])('with %s causes a warning', async (_, parts, code) => {
    expect(await problemsOf(parts)).toEqual([expect.objectContaining({ severity: 'warning', code })]);
  });
});
