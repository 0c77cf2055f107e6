import { describe, expect, test } from 'vitest';
import { dataOf, fillSample, MAIN, type Sample } from './sheet-fixture.ts';

/** The rows of a filled sheet, one per line. */
const rowsOf = async (sample: Sample): Promise<string[]> =>
  dataOf((await fillSample(sample)).xml).split(/(?<=<\/row>|<row [^>]*\/>)/);

const text = (value: string) => `<is><t xml:space="preserve">${value}</t></is>`;
const HEADER = '<row r="2" spans="1:3"><c r="B2" t="s"><v>0</v></c><c r="C2" t="s"><v>1</v></c></row>';
const ONE =
  '<row r="3" spans="1:3" ht="20" customHeight="1"><c r="A3" s="9"/><c r="B3" s="4"><v>1</v></c><c r="C3" s="5"><v>2</v></c></row>';

describe('the rows of a bound table', () => {
  test('keep the styles of their cells; inserted rows get those of the last row of data', async () => {
    const rows = await rowsOf({
      xml: `${HEADER}${ONE}<row r="5"><c r="A5" s="1"><v>7</v></c><c r="B5" t="s"><v>3</v></c></row>`,
      tables: [
        {
          range: 'B2:C3',
          columns: ['one', 'two'],
          rows: [
            ['a & <b>', 1.5],
            [{ serial: 46_000 }, null],
            [true, 1e-7],
          ],
        },
      ],
    });
    expect(rows).toEqual([
      HEADER,
      `<row r="3" ht="20" customHeight="1"><c r="A3" s="9"/><c r="B3" s="4" t="inlineStr">${text('a &amp; &lt;b&gt;')}</c><c r="C3" s="5"><v>1.5</v></c></row>`,
      '<row r="4" ht="20" customHeight="1"><c r="A4" s="9"/><c r="B4" s="4"><v>46000</v></c><c r="C4" s="5"/></row>',
      '<row r="5" ht="20" customHeight="1"><c r="A5" s="9"/><c r="B5" s="4" t="b"><v>1</v></c><c r="C5" s="5"><v>1e-7</v></c></row>',
      '<row r="7"><c r="A7" s="1"><v>7</v></c><c r="B7" t="s"><v>3</v></c></row>',
    ]);
  });

  test.each([
    ['no rows', { rows: [] }],
    ['a list', { rows: [['x', null, null]], clearsSamples: true }],
  ])('keep no sample values in unbound columns of %s, but keep their formulas', async (_, { rows, ...more }) => {
    const [, filled] = await rowsOf({
      xml: `${HEADER}<row r="3"><c r="B3" s="1"><v>1</v></c><c r="C3" s="2" t="s"><v>9</v></c><c r="D3"><f>B3</f></c></row>`,
      tables: [{ range: 'B2:D3', columns: ['one', '!own', '=B3'], rows, ...more }],
    });
    expect(filled).toContain('<c r="C3" s="2"/><c r="D3"><f>B3</f></c>');
  });

  test('get the style of their row or column if the template has no such cells', async () => {
    const { xml } = await fillSample({
      xml: `<worksheet xmlns="${MAIN}"><cols><col min="2" max="2" style="6"/></cols><sheetData>${HEADER}<row r="4" s="8" customFormat="1"/></sheetData></worksheet>`,
      tables: [
        {
          range: 'B2:C4',
          columns: ['one', 'two'],
          rows: [
            [1, 2],
            [3, 4],
            [5, null],
          ],
        },
      ],
    });
    expect(dataOf(xml)).toBe(
      `${HEADER}<row r="3"><c r="B3" s="6"><v>1</v></c><c r="C3"><v>2</v></c></row>` +
        '<row r="4" s="8" customFormat="1"><c r="B4" s="8"><v>3</v></c><c r="C4" s="8"><v>4</v></c></row>' +
        '<row r="5" s="8" customFormat="1"><c r="B5" s="8"><v>5</v></c><c r="C5" s="8"/></row>',
    );
  });

  test('are written into a sheet without rows and with a prefix', async () => {
    const { xml } = await fillSample({
      xml: `<x:worksheet xmlns:x="${MAIN}">\n<x:sheetData/></x:worksheet>\n`,
      tables: [{ range: 'B2:B3', columns: ['one'], rows: [['a'], [2]] }],
      names: { A1: 'Acme' },
    });
    expect(xml).toBe(
      `<x:worksheet xmlns:x="${MAIN}">\n<x:sheetData>` +
        '<x:row r="1"><x:c r="A1" t="inlineStr"><x:is><x:t xml:space="preserve">Acme</x:t></x:is></x:c></x:row>' +
        '<x:row r="3"><x:c r="B3" t="inlineStr"><x:is><x:t xml:space="preserve">a</x:t></x:is></x:c></x:row>' +
        '<x:row r="4"><x:c r="B4"><x:v>2</x:v></x:c></x:row></x:sheetData></x:worksheet>\n',
    );
  });

  test('can be fewer than in the template: values go, styles stay, the totals row moves up, nothing else moves', async () => {
    const row = (number: number, style: number) =>
      `<row r="${number}"><c r="A${number}"><v>${number}</v></c><c r="B${number}" s="${style}"><v>1</v></c><c r="C${number}" s="${style}"><f>B${number}*2</f><v>2</v></c></row>`;
    const totals =
      '<row r="6" ht="30" customHeight="1"><c r="A6"><v>6</v></c><c r="B6" s="20"><f>SUBTOTAL(109,board[one])</f><v>9</v></c><c r="C6" s="21"/></row>';
    const rows = await rowsOf({
      xml: `${HEADER}${row(3, 11)}${row(4, 12)}${row(5, 13)}${totals}<row r="8"><c r="B8"><f>SUM(B3:B5)+B6</f><v>9</v></c></row>`,
      tables: [{ range: 'B2:C6', columns: ['one', '!two'], totals: true, rows: [[7]] }],
      names: { C6: 42 },
    });
    expect(rows).toEqual([
      HEADER,
      '<row r="3"><c r="A3"><v>3</v></c><c r="B3" s="11"><v>7</v></c><c r="C3" s="11"><f>B3*2</f></c></row>',
      '<row r="4"><c r="A4"><v>4</v></c><c r="B4" s="20"><f>SUBTOTAL(109,board[one])</f></c><c r="C4" s="21"><v>42</v></c></row>',
      '<row r="5"><c r="A5"><v>5</v></c><c r="B5" s="13"/><c r="C5" s="13"/></row>',
      '<row r="6" ht="30" customHeight="1"><c r="A6"><v>6</v></c><c r="B6" s="12"/><c r="C6" s="12"/></row>',
      '<row r="8"><c r="B8"><f>SUM(B3:B3)+B4</f></c></row>',
    ]);
  });

  test('leave one empty row with the formulas of the template if there is no data', async () => {
    const rows = await rowsOf({
      xml: `${HEADER}<row r="3"><c r="B3" s="4"><v>1</v></c><c r="C3"><f>B3*2</f><v>2</v></c></row>`,
      tables: [{ range: 'B2:C3', columns: ['one', '!two'], rows: [] }],
    });
    expect(rows).toEqual([HEADER, '<row r="3"><c r="B3" s="4"/><c r="C3"><f>B3*2</f></c></row>']);
  });

  test('end with empty cells if the neighbour table is longer', async () => {
    const rows = await rowsOf({
      xml: '<row r="2"><c r="A2" s="1"><v>1</v></c><c r="C2" s="2"><v>1</v></c><c r="D2" s="3"><f>C2+1</f></c></row>',
      tables: [
        { name: 'one', range: 'A1:A2', columns: ['x'], rows: [[1], [2], [3]] },
        { name: 'two', range: 'C1:D2', columns: ['y', '!z'], rows: [[9]] },
      ],
    });
    expect(rows).toEqual([
      '<row r="2"><c r="A2" s="1"><v>1</v></c><c r="C2" s="2"><v>9</v></c><c r="D2" s="3"><f>C2+1</f></c></row>',
      '<row r="3"><c r="A3" s="1"><v>2</v></c><c r="C3" s="2"/><c r="D3" s="3"/></row>',
      '<row r="4"><c r="A4" s="1"><v>3</v></c><c r="C4" s="2"/><c r="D4" s="3"/></row>',
    ]);
  });
});

describe('the formulas of a filled sheet', () => {
  test('continue in columns of the template, filled down or as calculated columns', async () => {
    const rows = await rowsOf({
      xml:
        '<row r="2"><c r="A2"><v>1</v></c><c r="B2" s="3"><f>A2/A$4</f><v>1</v></c><c r="C2"><f>SUM(A$2:A2)</f></c><c r="D2" cm="1"><f t="array" ref="D2">SUM(A2*2)</f><v>2</v></c><c r="E2" t="str"><v>x</v></c></row>' +
        '<row r="4"><c r="A4"><f>SUM(A2:A2)</f><v>1</v></c></row>',
      tables: [
        {
          range: 'A1:F2',
          columns: ['n', '!share', '!running', '!array', '!text', '=board[[#This Row],[n]]+A2'],
          rows: [[1], [2], [3]],
        },
      ],
    });
    expect(rows).toEqual([
      '<row r="2"><c r="A2"><v>1</v></c><c r="B2" s="3"><f>A2/A$6</f></c><c r="C2"><f>SUM(A$2:A2)</f></c><c r="D2" cm="1"><f t="array" ref="D2">SUM(A2*2)</f></c><c r="E2" t="str"><v>x</v></c><c r="F2"><f>board[[#This Row],[n]]+A2</f></c></row>',
      '<row r="3"><c r="A3"><v>2</v></c><c r="B3" s="3"><f>A3/A$6</f></c><c r="C3"><f>SUM(A$2:A3)</f></c><c r="D3" cm="1"><f t="array" ref="D3">SUM(A3*2)</f></c><c r="F3"><f>board[[#This Row],[n]]+A3</f></c></row>',
      '<row r="4"><c r="A4"><v>3</v></c><c r="B4" s="3"><f>A4/A$6</f></c><c r="C4"><f>SUM(A$2:A4)</f></c><c r="D4" cm="1"><f t="array" ref="D4">SUM(A4*2)</f></c><c r="F4"><f>board[[#This Row],[n]]+A4</f></c></row>',
      '<row r="6"><c r="A6"><f>SUM(A2:A4)</f></c></row>',
    ]);
  });

  test('are written out if they are shared and growth changes one of them', async () => {
    const shared = (column: string, id: number, base: string) =>
      `<c r="${column}3"><f t="shared" ref="${column}3:${column}4" si="${id}">${base}</f><v>1</v></c>`;
    const rows = await rowsOf({
      xml:
        `<row r="1"><c r="E1"><f t="shared" ref="E1:F1" si="7">E$9+1</f><v>1</v></c><c r="F1"><f t="shared" si="7"/></c></row>` +
        `<row r="3"><c r="A3"><v>1</v></c>${shared('B', 0, 'A3*$A$8')}</row>` +
        `<row r="4"><c r="A4"><v>1</v></c><c r="B4"><f t="shared" si="0"/><v>1</v></c></row>` +
        `<row r="8"><c r="A8"><v>2</v></c></row>`,
      tables: [{ range: 'A2:B4', columns: ['n', '!twice'], rows: [[1], [2], [3]] }],
    });
    expect(rows).toEqual([
      '<row r="1"><c r="E1"><f>E$10+1</f></c><c r="F1"><f>F$10+1</f></c></row>',
      '<row r="3"><c r="A3"><v>1</v></c><c r="B3"><f>A3*$A$9</f></c></row>',
      '<row r="4"><c r="A4"><v>2</v></c><c r="B4"><f>A4*$A$9</f></c></row>',
      '<row r="5"><c r="A5"><v>3</v></c><c r="B5"><f>A5*$A$9</f></c></row>',
      '<row r="9"><c r="A9"><v>2</v></c></row>',
    ]);
    const untouched =
      '<row r="3"><c r="B3"><f t="shared" ref="B3:B4" si="0">A3*2</f></c></row><row r="4"><c r="B4"><f t="shared" si="0"/></c></row>';
    expect(dataOf((await fillSample({ xml: untouched, names: { D3: 1 } })).xml)).toBe(
      untouched.replace('</row>', '<c r="D3"><v>1</v></c></row>'),
    );
  });

  test('lose stored results of array formulas and data tables, and move', async () => {
    const rows = await rowsOf({
      xml:
        '<row r="2"><c r="A2"><v>1</v></c></row>' +
        '<row r="4"><c r="A4"><f t="array" ref="A4:B4">A2:A2*{1,2}</f><v>1</v></c><c r="B4" s="2"><v>2</v></c></row>' +
        '<row r="6"><c r="C6"><f t="dataTable" ref="C6:C7" dt2D="0" dtr="0" r1="A4"/><v>1</v></c></row>' +
        '<row r="7"><c r="C7"><v>5</v></c></row>',
      tables: [{ range: 'A1:A2', columns: ['n'], rows: [[1], [2]] }],
    });
    expect(rows.slice(2)).toEqual([
      '<row r="5"><c r="A5"><f t="array" ref="A5:B5">A2:A3*{1,2}</f></c><c r="B5" s="2"></c></row>',
      '<row r="7"><c r="C7"><f t="dataTable" ref="C7:C8" dt2D="0" dtr="0" r1="A5"/></c></row>',
      '<row r="8"><c r="C8"></c></row>',
    ]);
  });
});

test('automatic row heights are removed, and heights that a person set stay', async () => {
  const rows = await rowsOf({
    xml: '<row r="1" ht="15"><c r="A1"/></row><row r="3" ht="15"><c r="A3"/></row><row r="5" ht="40" customHeight="1"><c r="A5"/></row><row r="6" ht="16"/>',
    tables: [{ range: 'A2:A3', columns: ['n'], rows: [['long'], ['texts']] }],
    names: { A1: 1, A5: 2 },
  });
  expect(rows.map((row) => /^<row [^>]*>/.exec(row)?.[0])).toEqual([
    '<row r="1">',
    '<row r="3">',
    '<row r="4">',
    '<row r="6" ht="40" customHeight="1">',
    '<row r="7" ht="16"/>',
  ]);
});

describe('a filled sheet', () => {
  test('moves a name with its cell, and keeps the cell’s style and the white space', async () => {
    const { xml } = await fillSample({
      xml: '\n  <row r="1">\n <c r="A1" s="7" t="s"><v>0</v></c>\n</row>\n<row r="3"><c r="A3"><v>1</v></c></row><row r="6"><c r="B6" s="2"><f>A3</f></c></row>',
      tables: [{ range: 'A2:A3', columns: ['n'], rows: [[1], [2]] }],
      names: { A1: 'June', B6: { serial: 46_000 } },
      date1904: true,
    });
    expect(dataOf(xml)).toBe(
      `\n  <row r="1">\n <c r="A1" s="7" t="inlineStr">${text('June')}</c>\n</row>\n<row r="3"><c r="A3"><v>1</v></c></row><row r="4"><c r="A4"><v>2</v></c></row><row r="7"><c r="B7" s="2"><v>44538</v></c></row>`,
    );
  });

  test('does not change if it gets no values and refers to nothing that moves', async () => {
    const xml = `<?xml version="1.0" encoding="UTF-8"?>\r\n<worksheet xmlns="${MAIN}"><sheetData><row><c><v>1</v></c><c t="s"><v>2</v></c></row><row r="4"><c r="B4"><f>A1</f><v>1</v></c></row></sheetData><!-- end --></worksheet>\r\n`;
    const { changes } = await fillSample({ xml });
    expect(changes).toBe(false);
  });
});

test('rows out of order are rejected', async () => {
  await expect(fillSample({ xml: '<row r="3"/><row r="2"/>', names: { A1: 1 } })).rejects.toMatchObject({
    code: 'template.invalid',
  });
});

test('below the last row of Excel formats are dropped, and content is an error', async () => {
  const tables = [{ range: 'A1:A2', columns: ['n'], rows: [[1], [2], [3]] }];
  const last = '<row r="1048574"><c r="A1048574"><v>7</v></c></row><row r="1048575"><c r="A1048575" s="1"/></row>';
  const rows = await rowsOf({ xml: `${HEADER.replaceAll('2', '1')}${last}<row r="1048576" ht="12.8"/>`, tables });
  expect(rows.slice(4)).toEqual(['<row r="1048576"><c r="A1048576"><v>7</v></c></row>']);
  const value = '<row r="1048576"><c r="A1048576"><v>7</v></c></row>';
  await expect(fillSample({ xml: value, tables })).rejects.toMatchObject({ code: 'render.failed' });
  await expect(fillSample({ xml: '', tables, names: { A1048575: 1 } })).rejects.toMatchObject({
    code: 'render.failed',
  });
});
