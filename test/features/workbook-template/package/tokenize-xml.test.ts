import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  changeAttributes,
  decodeExcelText,
  escapeXmlAttribute,
  escapeXmlText,
  tokenizeXml,
  tokenizeXmlStream,
} from '../../../../src/features/workbook-template/package/tokenize-xml.ts';
import type { XmlOpen, XmlToken } from '../../../../src/features/workbook-template/package/xml-tokens.ts';
import { cases } from '../../../support/fuzz.ts';

const DOCUMENT =
  '<?xml version="1.0" encoding="UTF-8"?>\r\n<!-- a < b --><?pi x<y?>\r\n<x:a x = \'1&amp;"\'  y="&#10;😀"><![CDATA[<x>]]>t&lt;\r\n<b  /><!-- c - d --></x:a \n>\n<!-- e -->\n';

const rawOf = (tokens: readonly XmlToken[]): string => tokens.map(({ raw }) => raw).join('');

async function streamed(bytes: Buffer, sizes: readonly number[]): Promise<readonly XmlToken[]> {
  async function* chunks(): AsyncIterable<Uint8Array> {
    let at = 0;
    for (let index = 0; at < bytes.length; index += 1) {
      const size = sizes[index % sizes.length] ?? 1;
      yield bytes.subarray(at, at + size);
      at += size;
    }
  }
  const tokens: XmlToken[] = [];
  for await (const batch of tokenizeXmlStream(chunks())) tokens.push(...batch);
  return tokens;
}

const open = (raw: string): XmlOpen =>
  [...tokenizeXml(`${raw}${raw.endsWith('/>') ? '' : '</a>'}`)].find((token) => token.kind === 'open')!;

describe('the tokens of a document', () => {
  test('have every character, and decoded names, attributes and texts', () => {
    const tokens = [...tokenizeXml(DOCUMENT)];
    expect(rawOf(tokens)).toBe(DOCUMENT);
    const [a, b] = tokens.filter((token) => token.kind === 'open');
    expect(a).toMatchObject({ name: 'x:a', local: 'a', attributes: { x: '1&"', y: '\n😀' }, selfClosing: false });
    expect(b).toMatchObject({ name: 'b', selfClosing: true, raw: '<b  />' });
    expect(tokens.flatMap((token) => (token.kind === 'text' ? [token.text] : []))).toEqual([
      '\n',
      '\n',
      '<x>',
      't<\n',
      '\n',
      '\n',
    ]);
    expect(tokens.flatMap((token) => (token.kind === 'close' ? [token.raw] : []))).toEqual(['', '</x:a \n>']);
  });

  test('do not depend on how the bytes arrive', async () => {
    const whole = [...tokenizeXml(DOCUMENT)];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }), async (sizes) => {
        expect(await streamed(Buffer.from(DOCUMENT), sizes)).toEqual(whole);
      }),
      cases(200),
    );
  });

  test('arrive before a long document ends', () => {
    const text = `<a>${'<b/>'.repeat(20_000)}`;
    let seen = 0;
    expect(() => {
      for (const _ of tokenizeXml(text)) seen += 1;
    }).toThrow(expect.objectContaining({ code: 'template.invalid' }));
    expect(seen).toBeGreaterThan(20_000);
  });

  test.each([
    ['a DOCTYPE', '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'],
    ['an unknown entity', '<a>&b;</a>'],
    ['another encoding', '<?xml version="1.0" encoding="UTF-16"?><a/>'],
    ['crossed tags', '<a><b></a></b>'],
    ['a repeated attribute', '<a b="" b=""/>'],
    ['two roots', '<a/><a/>'],
    ['a control character', '<a>\u0001</a>'],
    ['a reference to a control character', '<?xml version="1.1"?><a>&#1;</a>'],
    ['an unterminated comment', '<a/><!-- -- >'],
    ['an empty document', ''],
    ['deep nesting', '<a>'.repeat(1_001) + '</a>'.repeat(1_001)],
    ['a huge text', `<a>${' '.repeat(4 * 1024 * 1024 + 65_536)}</a>`],
  ])('reject %s', (_, text) => {
    expect(() => [...tokenizeXml(text, 'xl/part.xml')]).toThrow(expect.objectContaining({ code: 'template.invalid' }));
  });

  test('reject bytes that are not UTF-8', async () => {
    await expect(streamed(Buffer.from('<a>ä</a>', 'latin1'), [3])).rejects.toMatchObject({ code: 'template.invalid' });
  });
});

describe('changed attributes', () => {
  test('keep the rest of the tag as written', () => {
    const tag = open(`<a ref = 'B4:C6'  id="1" name="x&amp;y" />`);
    expect(changeAttributes(tag, { ref: 'B4:C9' })).toBe(`<a ref="B4:C9"  id="1" name="x&amp;y" />`);
    expect(changeAttributes(tag, { ref: 'B4:C6', id: '2' })).toBe(`<a ref = 'B4:C6'  id="2" name="x&amp;y" />`);
    expect(changeAttributes(tag, { id: null, gone: null })).toBe(`<a ref = 'B4:C6' name="x&amp;y" />`);
    expect(changeAttributes(tag, { t: '"<\n' })).toBe(`<a ref = 'B4:C6'  id="1" name="x&amp;y" t="&quot;&lt;&#10;" />`);
    expect(changeAttributes(open('<a>'), { b: '1', c: '2' })).toBe('<a b="1" c="2">');
    expect(changeAttributes(open(`<a b=">/ c='1'">`), { c: '2' })).toBe(`<a b=">/ c='1'" c="2">`);
  });
});

describe('escaped text', () => {
  test('is read as it was written, except for forbidden characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const written = `<a b="${escapeXmlAttribute(text)}">${escapeXmlText(text)}</a>`;
        const tokens = [...tokenizeXml(written)];
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML forbids.
        const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff\p{Cs}]/gu;
        const expected = text.replace(
          forbidden,
          (character) => `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`,
        );
        expect(tokens.flatMap((token) => (token.kind === 'text' ? [token.text] : [])).join('')).toBe(expected);
        expect(tokens[0]).toMatchObject({ attributes: { b: expected } });
      }),
      cases(300),
    );
  });

  test('is decoded from Excel’s escapes', () => {
    expect(decodeExcelText('a_x000a_b _x005F_x0041_ _x12_')).toBe('a\nb _x0041_ _x12_');
  });
});
