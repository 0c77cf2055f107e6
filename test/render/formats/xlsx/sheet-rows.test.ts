import { expect, it } from 'vitest';
import { messagesFor } from '../../../../src/i18n/messages.ts';
import { createLongTextStore } from '../../../../src/render/formats/xlsx/package/long-texts.ts';
import { createRowSerializer } from '../../../../src/render/formats/xlsx/package/sheet-rows.ts';
import { type CellStyle, STYLES } from '../../../../src/render/formats/xlsx/style/styles.ts';

const rows = () => {
  const styles: CellStyle[] = [];
  const texts: string[] = [];
  const row = createRowSerializer({
    sheet: 'Sheet',
    styleId: (style) => styles.push(style),
    textId: (text) => texts.push(text) - 1,
    longTexts: createLongTextStore('Long texts', messagesFor().workbook.longTexts),
  });
  return { row, styles, texts };
};
const style = STYLES.plain;

it('writes every kind of value as a cell, and nothing for a missing cell', () => {
  const { row, texts } = rows();
  const at = new Date('2026-11-16T12:00:00Z');
  const cells = [1.5, 'a', true, false, at, null, -0, 1e21].map((value) => ({ value, style }));
  expect(row(7, [undefined, ...cells], true)).toBe(
    '<row r="7"><c r="B7" s="1"><v>1.5</v></c><c r="C7" s="1" t="s"><v>0</v></c><c r="D7" s="1" t="b"><v>1</v></c>' +
      '<c r="E7" s="1" t="b"><v>0</v></c><c r="F7" s="1"><v>46342.5</v></c><c r="G7" s="1"/><c r="H7" s="1"><v>0</v></c>' +
      '<c r="I7" s="1"><v>1e+21</v></c></row>',
  );
  expect(texts).toEqual(['a']);
});

it('looks up the id of each style once', () => {
  const { row, styles } = rows();
  for (const number of [1, 2, 3])
    row(
      number,
      [
        { value: 1, style },
        { value: 2, style: STYLES.quiet },
      ],
      true,
    );
  expect(styles).toEqual([style, STYLES.quiet]);
});

it('keeps blanks and line breaks of a text, escapes markup, and replaces characters that XML forbids', () => {
  const { row } = rows();
  const text = (value: string) => /<t( xml:space="preserve")?>(.*)<\/t>/s.exec(row(1, [{ value, style }], false))?.[2];
  expect(text('  two\nlines\t ')).toBe('  two\nlines\t ');
  expect(text('<b a="1">Zürich & 🚀</b>')).toBe('&lt;b a=&quot;1&quot;&gt;Zürich &amp; 🚀&lt;/b&gt;');
  expect(text('a\u0000b\u007fc\ud800d\uffffe\r\nf')).toBe('a\ufffdb\ufffdc\ufffdd\ufffde\nf');
  expect(text('_x0041_ and _x')).toBe('_x005F_x0041_ and _x');
  const preserved = (value: string) => row(1, [{ value, style }], false).includes('<t xml:space="preserve">');
  expect([' a', 'a ', 'a  b', 'a\nb', 'a\tb', 'a b', 'a'].map(preserved)).toEqual([
    ...[true, true, true, true, true],
    ...[false, false],
  ]);
});

it('gives the cells that a wide cell covers its style, even beyond column Z', () => {
  const { row } = rows();
  const cells = [...Array.from({ length: 25 }, () => undefined), { value: 'wide', style, span: 3 }];
  expect(row(2, cells, true)).toBe(
    '<row r="2"><c r="Z2" s="1" t="s"><v>0</v></c><c r="AA2" s="1"/><c r="AB2" s="1"/></row>',
  );
});

it('writes no row without cells and height, and limits heights to the 409 points of Excel', () => {
  const { row } = rows();
  expect(row(1, [], true)).toBe('');
  expect(row(1, [], true, 12)).toBe('<row r="1" ht="12" customHeight="1"></row>');
  expect(row(1, [], true, 1000)).toBe('<row r="1" ht="409" customHeight="1"></row>');
});
