import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cellXml, MAX_CELL_TEXT, textXml } from '../../../../src/features/workbook-template/fill/sheet/cell-xml.ts';
import { decodeExcelText, tokenizeXml } from '../../../../src/features/workbook-template/package/tokenize-xml.ts';
import { cases } from '../../../support/fuzz.ts';

const FORMAT = { prefix: '', date1904: false };
const textOf = (xml: string): string => {
  let text = '';
  for (const token of tokenizeXml(`<t>${xml}</t>`)) if (token.kind === 'text') text += token.text;
  return decodeExcelText(text);
};

describe('cells', () => {
  test.each([
    [0.1 + 0.2, '<c r="B4" s="3"><v>0.30000000000000004</v></c>'],
    [-0, '<c r="B4" s="3"><v>0</v></c>'],
    [Number.NaN, '<c r="B4" s="3"/>'],
    [Number.POSITIVE_INFINITY, '<c r="B4" s="3"/>'],
    [null, '<c r="B4" s="3"/>'],
    [false, '<c r="B4" s="3" t="b"><v>0</v></c>'],
    [{ serial: 46_000.5 }, '<c r="B4" s="3"><v>46000.5</v></c>'],
    ['=1+1', '<c r="B4" s="3" t="inlineStr"><is><t xml:space="preserve">=1+1</t></is></c>'],
  ])('write %o', (value, xml) => {
    expect(cellXml('B4', ' s="3"', value, FORMAT)).toBe(xml);
  });

  test('shorten a long text with a mark, never within a character', () => {
    expect(textXml('x'.repeat(MAX_CELL_TEXT))).toHaveLength(MAX_CELL_TEXT);
    expect(textXml('x'.repeat(MAX_CELL_TEXT + 1))).toBe(`${'x'.repeat(MAX_CELL_TEXT - 1)}…`);
    expect(textXml(`${'x'.repeat(MAX_CELL_TEXT - 2)}😀😀`)).toBe(`${'x'.repeat(MAX_CELL_TEXT - 2)}…`);
  });

  test('do not cut a long text within a figure, a word or a grapheme', () => {
    const before = 'x '.repeat((MAX_CELL_TEXT - 5) / 2).trimEnd();
    for (const end of ['34,300 more', '34\u00a0300 more', 'more', '👩‍👩‍👧‍👧👩‍👩‍👧‍👧'])
      expect([end, textXml(`${before} ${end} x`).slice(before.length)]).toEqual([end, end === 'more' ? ' more…' : '…']);
  });

  test('keep any text except line ends and lone surrogates', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom('_x000A_', '_', 'x', '&', '<', '\r', '\u0001', '\ud800', '\ufffe', '😀') }),
    );
    fc.assert(
      fc.property(text, (value) => {
        const expected = value.replace(/\r\n?/g, '\n').replace(/[\ud800-\udfff]/gu, '\ufffd');
        expect(textOf(textXml(value))).toBe(expected);
      }),
      cases(300),
    );
  });
});
