import { expect, test } from 'vitest';
import { parseComment, spansText } from '../../src/definitions/commentary/comment-text.ts';
import { footerCodes } from '../../src/render/formats/xlsx/package/page-footer.ts';
import { sheetNames } from '../../src/render/formats/xlsx/sheet-names.ts';
import { blockLines, shortenBlocks } from '../../src/render/pack/review/block-lines.ts';

test('a sheet name without spaces does not end inside a figure', () => {
  expect(sheetNames([`${'x'.repeat(28)}34300`], 'Sheet')).toEqual(['x'.repeat(28)]);
});

test('the footer of a page ends at a word, and counts an ampersand as two', () => {
  const left = `${'word & '.repeat(8)}34,300 profiles`;
  const shown = footerCodes({ left, right: '', pages: '' }, 100);
  expect(shown).toContain(`${'word && '.repeat(8)}34,300…`);
  const longer = footerCodes({ left: `words ${left}`, right: '', pages: '' }, 100);
  expect(longer).toContain(`${'word && '.repeat(8).trimEnd()}…`);
});

test('a comment in a mail does not end inside a figure', () => {
  const { blocks } = shortenBlocks(parseComment(`${'x'.repeat(38)}34300`), 40, 12);
  expect(blockLines(blocks).map(({ spans }) => spansText(spans))).toEqual([`${'x'.repeat(38)} …`]);
});
