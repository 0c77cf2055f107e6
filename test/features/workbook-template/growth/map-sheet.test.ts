import { describe, expect, it } from 'vitest';
import type { GrowthPlan } from '../../../../src/features/workbook-template/growth/growth.ts';
import { createSheetMapper } from '../../../../src/features/workbook-template/growth/map-sheet.ts';
import { createReferenceMap } from '../../../../src/features/workbook-template/growth/reference-map.ts';
import { tokenizeXml } from '../../../../src/features/workbook-template/package/tokenize-xml.ts';

/** Rows 2 to 5 hold the data of a table in A:D. */
const planOf = (rows: number): GrowthPlan =>
  new Map([
    ['Board', [{ first: 2, last: 5, rows, tables: [{ name: 'cases', fromColumn: 1, toColumn: 4, totalsRow: true }] }]],
  ]);

function mapSheet(rows: number, inner: string, sheet = 'Board'): { xml: string; changed: boolean } {
  const plan = planOf(rows);
  const mapper = createSheetMapper(sheet, plan, createReferenceMap(plan));
  const open = '<worksheet xmlns="m" xmlns:r="r" xmlns:x14="x" xmlns:xm="y" xmlns:xdr="z" xmlns:mc="c">';
  // In batches of two tokens, as a stream might give them.
  const tokens = [...tokenizeXml(`${open}${inner}</worksheet>`)];
  let xml = '';
  for (let at = 0; at < tokens.length; at += 2) for (const raw of mapper.map(tokens.slice(at, at + 2))) xml += raw;
  expect(xml.startsWith(open) && xml.endsWith('</worksheet>')).toBe(true);
  return { xml: xml.slice(open.length, -'</worksheet>'.length), changed: mapper.changed };
}

const SHEET: readonly (readonly [string, string])[] = [
  [`<dimension ref='A1:D6'/>`, `<dimension ref="A1:D16"/>`],
  [
    '<sheetView topLeftCell="A7"><pane ySplit="1" topLeftCell="A2" state="frozen"/><selection activeCell="B5" sqref="B5 B8:C9"/></sheetView>',
    '<sheetView topLeftCell="A7"><pane ySplit="1" topLeftCell="A2" state="frozen"/><selection activeCell="B5" sqref="B5 B18:C19"/></sheetView>',
  ],
  ['<protectedRange sqref="B5 F9" name="x"/>', '<protectedRange sqref="B5:B15 F19" name="x"/>'],
  // Areas beside the table: areas of one row stay, areas over all its rows grow.
  ['<protectedRange sqref="F5 F5:G5 F2:F5" name="x"/>', '<protectedRange sqref="F5 F5:G5 F2:F15" name="x"/>'],
  [
    '<conditionalFormatting sqref="F5 F9"><cfRule type="expression"><formula>F5&gt;0</formula></cfRule></conditionalFormatting>',
    '<conditionalFormatting sqref="F5 F19"><cfRule type="expression"><formula>F5&gt;0</formula></cfRule></conditionalFormatting>',
  ],
  [
    '<dataValidation type="whole" sqref="F5 B2:B5"><formula1>0</formula1></dataValidation>',
    '<dataValidation type="whole" sqref="F5 B2:B15"><formula1>0</formula1></dataValidation>',
  ],
  [
    '<scenarios sqref="B9"><scenario name="a"><inputCells r="B9" val="1"/></scenario></scenarios>',
    '<scenarios sqref="B19"><scenario name="a"><inputCells r="B19" val="1"/></scenario></scenarios>',
  ],
  [
    '<autoFilter ref="A9:C12"><filterColumn colId="0"/><sortState ref="A10:C12"><sortCondition ref="B10:B12"/></sortState></autoFilter>',
    '<autoFilter ref="A19:C22"><filterColumn colId="0"/><sortState ref="A20:C22"><sortCondition ref="B20:B22"/></sortState></autoFilter>',
  ],
  [
    '<mergeCells count="2"><mergeCell ref="F5:G5"/><mergeCell ref="A8:C9"/></mergeCells>',
    '<mergeCells count="2"><mergeCell ref="F5:G5"/><mergeCell ref="A18:C19"/></mergeCells>',
  ],
  [
    '<conditionalFormatting sqref="B2:B5 D5"><cfRule type="expression"><formula>AND(B2&gt;0,SUM(B$2:B2)&lt;SUM($B$2:$B$5))</formula></cfRule><cfRule type="colorScale"><colorScale><cfvo type="num" val="$F$9"/><cfvo type="num" val="10"/></colorScale></cfRule></conditionalFormatting>',
    '<conditionalFormatting sqref="B2:B15 D5:D15"><cfRule type="expression"><formula>AND(B2&gt;0,SUM(B$2:B2)&lt;SUM($B$2:$B$15))</formula></cfRule><cfRule type="colorScale"><colorScale><cfvo type="num" val="$F$19"/><cfvo type="num" val="10"/></colorScale></cfRule></conditionalFormatting>',
  ],
  [
    '<dataValidation type="list" sqref="F1"><formula1>$B$5</formula1></dataValidation><dataValidation type="whole" sqref="F1"><formula1>$B$5</formula1><formula2>Other!$B$6</formula2></dataValidation><dataValidation type="list" sqref="F8"><formula1>"B2:B5"</formula1></dataValidation>',
    '<dataValidation type="list" sqref="F1"><formula1>$B$5:$B$15</formula1></dataValidation><dataValidation type="whole" sqref="F1"><formula1>$B$5</formula1><formula2>Other!$B$6</formula2></dataValidation><dataValidation type="list" sqref="F18"><formula1>"B2:B5"</formula1></dataValidation>',
  ],
  [
    '<hyperlink ref="F9" location="Board!B7"/><hyperlink ref="F5" location="cases"/><hyperlink ref="F8" r:id="rId1" location="Board!B7"/>',
    '<hyperlink ref="F19" location="Board!B17"/><hyperlink ref="F5" location="cases"/><hyperlink ref="F18" r:id="rId1" location="Board!B7"/>',
  ],
  [
    '<rowBreaks><brk id="5" max="16383"/><brk id="4"/><brk id="9"/></rowBreaks><colBreaks><brk id="9"/></colBreaks>',
    '<rowBreaks><brk id="15" max="16383"/><brk id="4"/><brk id="19"/></rowBreaks><colBreaks><brk id="9"/></colBreaks>',
  ],
  ['<cellWatch r="B6"/><ignoredError sqref="B2:B5"/>', '<cellWatch r="B16"/><ignoredError sqref="B2:B15"/>'],
  [
    '<mc:AlternateContent><mc:Choice Requires="x14"><control r:id="r"><controlPr linkedCell="$F$9" listFillRange="Board!$A$2:$A$5"><anchor moveWithCells="1"><from><xdr:row>6</xdr:row></from><to><xdr:row>8</xdr:row><xdr:rowOff>6</xdr:rowOff></to></anchor></controlPr></control></mc:Choice></mc:AlternateContent><anchor><from><xdr:row>6</xdr:row></from></anchor><anchor moveWithCells="1" sizeWithCells="1"><from><xdr:row>1</xdr:row></from><to><xdr:row>6</xdr:row></to></anchor>',
    '<mc:AlternateContent><mc:Choice Requires="x14"><control r:id="r"><controlPr linkedCell="$F$19" listFillRange="Board!$A$2:$A$15"><anchor moveWithCells="1"><from><xdr:row>16</xdr:row></from><to><xdr:row>18</xdr:row><xdr:rowOff>6</xdr:rowOff></to></anchor></controlPr></control></mc:Choice></mc:AlternateContent><anchor><from><xdr:row>6</xdr:row></from></anchor><anchor moveWithCells="1" sizeWithCells="1"><from><xdr:row>1</xdr:row></from><to><xdr:row>16</xdr:row></to></anchor>',
  ],
  [
    '<x14:conditionalFormatting><x14:cfRule><xm:f>SUM(B$2:B2)+F9</xm:f><x14:dataBar><x14:cfvo><xm:f>$F$9</xm:f></x14:cfvo></x14:dataBar></x14:cfRule><xm:sqref>B2:B5</xm:sqref></x14:conditionalFormatting>',
    '<x14:conditionalFormatting><x14:cfRule><xm:f>SUM(B$2:B2)+F19</xm:f><x14:dataBar><x14:cfvo><xm:f>$F$19</xm:f></x14:cfvo></x14:dataBar></x14:cfRule><xm:sqref>B2:B15</xm:sqref></x14:conditionalFormatting>',
  ],
  [
    `<x14:dataValidation type="list"><x14:formula1><xm:f>'Board'!A2:A5</xm:f></x14:formula1><xm:sqref>F2 F5</xm:sqref></x14:dataValidation>`,
    `<x14:dataValidation type="list"><x14:formula1><xm:f>'Board'!A2:A15</xm:f></x14:formula1><xm:sqref>F2 F5</xm:sqref></x14:dataValidation>`,
  ],
  [
    '<x14:sparklineGroup><xm:f>Board!A5</xm:f><x14:sparklines><x14:sparkline><xm:f>Board!B2:B5</xm:f><xm:sqref>B1</xm:sqref></x14:sparkline><x14:sparkline><xm:f>Board!B5:C5</xm:f><xm:sqref>F5</xm:sqref></x14:sparkline></x14:sparklines></x14:sparklineGroup>',
    '<x14:sparklineGroup><xm:f>Board!A5:A15</xm:f><x14:sparklines><x14:sparkline><xm:f>Board!B2:B15</xm:f><xm:sqref>B1</xm:sqref></x14:sparkline><x14:sparkline><xm:f>Board!B5:C5</xm:f><xm:sqref>F5</xm:sqref></x14:sparkline></x14:sparklines></x14:sparklineGroup>',
  ],
];

describe('createSheetMapper', () => {
  it.each(SHEET)('grows %s', (before, after) => expect(mapSheet(14, before)).toEqual({ xml: after, changed: true }));

  it('continues the sparklines of a table in the inserted rows', () => {
    const line = (row: number) =>
      `<x14:sparkline><xm:f>Board!A${row}:C${row}</xm:f><xm:sqref>D${row}</xm:sqref></x14:sparkline>`;
    expect(mapSheet(6, line(4) + line(5)).xml).toBe(line(4) + line(5) + line(6) + line(7));
  });

  it('keeps every byte while nothing moves', () => {
    const inner = `${SHEET.map(([before]) => before).join('\n ')}<!-- & --><x a = '1' />`;
    expect(mapSheet(4, inner)).toEqual({ xml: inner, changed: false });
    const other = '<mergeCell ref="A8:C9"/><cfRule><formula>B9&gt;0</formula></cfRule>';
    expect(mapSheet(14, other, 'Other')).toEqual({ xml: other, changed: false });
  });

  it('shortens the ranges of a table with fewer rows', () => {
    const before = '<conditionalFormatting sqref="B2:B5 F2:F5 B6"/><hyperlink ref="F9"/><mergeCell ref="A8:C9"/>';
    expect(mapSheet(1, before).xml).toBe(
      '<conditionalFormatting sqref="B2 F2:F5 B3"/><hyperlink ref="F9"/><mergeCell ref="A8:C9"/>',
    );
  });
});
