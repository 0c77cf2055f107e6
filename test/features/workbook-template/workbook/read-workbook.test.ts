import { describe, expect, test } from 'vitest';
import { readWorkbook } from '../../../../src/features/workbook-template/workbook/read-workbook.ts';
import type { TemplateWorkbook } from '../../../../src/features/workbook-template/workbook/workbook.ts';
import { minimalParts, openBytes, relationship, relationships, zipped } from '../support/template-package.ts';

const read = async (parts: Parameters<typeof zipped>[0] = {}): Promise<TemplateWorkbook> =>
  readWorkbook(await openBytes(zipped(parts)));

const range = (row: number, column: number, toRow = row, toColumn = column) => ({
  from: { row, column },
  to: { row: toRow, column: toColumn },
});

describe('a workbook', () => {
  test('is read with its sheets, tables and names', async () => {
    expect(await read()).toEqual({
      sheets: [{ name: 'Board', part: 'xl/worksheets/sheet1.xml', kind: 'worksheet' }],
      tables: [
        {
          part: 'xl/tables/table1.xml',
          sheet: 'Board',
          name: 'intake',
          range: range(4, 2, 6, 3),
          headerRows: 1,
          totalsRows: 0,
          columns: [{ header: 'bucket' }, { header: 'created' }],
        },
      ],
      // The formula writes the sheet's name in another case.
      names: [
        { name: 'docket.org', scope: null, formula: 'board!$B$2', target: { sheet: 'Board', range: range(2, 2) } },
      ],
      date1904: false,
      macros: false,
    });
  });

  test('of another writer is read with prefixes, escapes, scopes and extensions', async () => {
    const workbook = await read({
      'xl/workbook.xml':
        '<x:workbook xmlns:x="http://purl.oclc.org/ooxml/spreadsheetml/main" xmlns:rel="x"><x:workbookPr date1904="true"/><x:bookViews><x:workbookView><x:extLst><x:sheet name="no" rel:id="rId1"/></x:extLst></x:workbookView></x:bookViews><x:sheets><x:sheet name="Über&amp;_x0041_" rel:id="rId1"/><x:sheet name="Chart" rel:id="rId2"/></x:sheets><x:definedNames><x:definedName name="a" localSheetId="1">\'Über&amp;A\'!B2:<![CDATA[C3]]></x:definedName><x:definedName name="b">#REF!</x:definedName></x:definedNames><x:extLst><x:definedName name="c">A!B2</x:definedName></x:extLst></x:workbook>',
      'xl/_rels/workbook.xml.rels': relationships(
        relationship(
          'rId1',
          'http://purl.oclc.org/ooxml/officeDocument/relationships/worksheet',
          'worksheets/sheet1.xml',
        ),
        relationship('rId2', 'chartsheet', 'chartsheets/sheet1.xml'),
        relationship('rId3', 'http://schemas.microsoft.com/office/2006/relationships/vbaProject', 'vbaProject.bin'),
      ),
      'xl/chartsheets/sheet1.xml': '<chartsheet/>',
      'xl/tables/table1.xml':
        '<x:table displayName="t" ref="A1:B4" headerRowCount="0" totalsRowCount="1"><x:tableColumns><x:tableColumn name="a_x000a_b"/><x:tableColumn name="c"><x:calculatedColumnFormula>1&lt;2</x:calculatedColumnFormula><x:totalsRowFormula>3</x:totalsRowFormula></x:tableColumn></x:tableColumns><x:extLst><x:ext><x14:table altText="docket:a-b" altTextSummary="s"/></x:ext></x:extLst></x:table>',
    });
    expect(workbook).toMatchObject({
      sheets: [{ name: 'Über&A' }, { name: 'Chart', kind: 'chartsheet' }],
      tables: [
        {
          name: 't',
          title: 'docket:a-b',
          range: range(1, 1, 4, 2),
          headerRows: 0,
          totalsRows: 1,
          columns: [{ header: 'a\nb' }, { header: 'c', formula: '1<2' }],
        },
      ],
      date1904: true,
      macros: true,
    });
    expect(workbook.names).toEqual([
      { name: 'a', scope: 'Chart', formula: "'Über&A'!B2:C3", target: { sheet: 'Über&A', range: range(2, 2, 3, 3) } },
      { name: 'b', scope: null, formula: '#REF!' },
    ]);
  });

  test.each<[string, Parameters<typeof zipped>[0]]>([
    ['without a main part', { '_rels/.rels': relationships() }],
    ['whose main part is missing', { 'xl/workbook.xml': null }],
    [
      'whose main part is external',
      { '_rels/.rels': relationships(relationship('rId1', 'officeDocument', 'http://example.com', true)) },
    ],
    [
      'that is a Word document',
      {
        '[Content_Types].xml': minimalParts()['[Content_Types].xml']!.replace(
          'spreadsheetml.sheet.main',
          'wordprocessingml.document.main',
        ),
      },
    ],
    [
      'that is binary (.xlsb)',
      {
        '[Content_Types].xml': minimalParts()['[Content_Types].xml']!.replace(
          'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml',
          'application/vnd.ms-excel.sheet.binary.macroEnabled.main',
        ),
      },
    ],
    ['without sheets', { 'xl/workbook.xml': '<workbook/>' }],
    ['without relationships', { 'xl/_rels/workbook.xml.rels': null }],
    ['whose sheet is missing', { 'xl/worksheets/sheet1.xml': null }],
    ['whose table is missing', { 'xl/tables/table1.xml': null }],
    ['whose table has no range', { 'xl/tables/table1.xml': '<table displayName="t"><tableColumns/></table>' }],
    [
      'whose table has no data row',
      {
        'xl/tables/table1.xml':
          '<table displayName="t" ref="A1"><tableColumns><tableColumn name="a"/></tableColumns></table>',
      },
    ],
    [
      'whose table has more columns than its range',
      {
        'xl/tables/table1.xml':
          '<table displayName="t" ref="A1:B3"><tableColumns><tableColumn name="a"/></tableColumns></table>',
      },
    ],
    ['that is not XML', { 'xl/workbook.xml': 'workbook' }],
  ])('%s is rejected', async (_, parts) => {
    await expect(read(parts)).rejects.toMatchObject({ code: 'template.invalid', where: 'board.xlsx' });
  });
});
