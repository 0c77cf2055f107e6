import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  commentProblem,
  MAX_COMMENT_LENGTH,
  parseComment,
  plainCommentText,
} from '../../../src/definitions/commentary/comment-text.ts';
import { cases } from '../../support/fuzz.ts';

const plain = (text: string) => ({ kind: 'paragraph', spans: [{ text }] });
const list = (ordered: boolean, ...items: string[]) => ({
  kind: 'list',
  ordered,
  items: items.map((text) => [{ text }]),
});

describe('parseComment', () => {
  it('removes direction controls and invisible characters, which older versions stored', () => {
    const text = '\u202e**000,1**\u202c cases\u200f\n\u2067- one\u00ad\u2069';
    expect(plainCommentText(parseComment(text))).toBe('000,1 cases\n- one');
  });

  it('reads paragraphs, lists and emphasis', () => {
    expect(
      parseComment(
        'First line\nof two.\r\n\r\nCauses:\n- a *late* file\n  of the bank\n\n- **two** staff\n1. one\n2. two',
      ),
    ).toEqual([
      plain('First line of two.'),
      plain('Causes:'),
      {
        kind: 'list',
        ordered: false,
        items: [
          [{ text: 'a ' }, { text: 'late', emphasis: 'em' }, { text: ' file of the bank' }],
          [{ text: 'two', emphasis: 'strong' }, { text: ' staff' }],
        ],
      },
      list(true, 'one', 'two'),
    ]);
  });

  it.each([
    ['3. November: closed', [plain('3. November: closed')]],
    ['1. one\n3. three', [list(true, 'one'), plain('3. three')]],
    ['1. one\n\n1. again', [list(true, 'one'), list(true, 'again')]],
    ['3*4*5 and a * b * c', [plain('3*4*5 and a * b * c')]],
    ['***both*** and *open', [plain('***both*** and *open')]],
    ['-5% is no item', [plain('-5% is no item')]],
    ['# no heading', [plain('# no heading')]],
    ['<b>a</b> [x](https://x.example) `c`', [plain('<b>a</b> [x](https://x.example) `c`')]],
    ['=cmd()|1!A0', [plain('=cmd()|1!A0')]],
    ['a\u0000b\ud800c\u0007', [plain('abc')]],
    ['', []],
    [' \n\t\n', []],
  ])('parses %j', (text, blocks) => {
    expect(parseComment(text)).toEqual(blocks);
  });

  it('keeps all characters but markup, white space and control characters, and adds none', () => {
    const piece = fc.constantFrom(
      '*',
      '**',
      '-',
      ' ',
      '\n',
      '\n\n',
      '1.',
      '2.',
      'a',
      '7',
      'é',
      '{{ a.b }}',
      '𝄞',
      '\t',
      '.',
    );
    const letters = (text: string) => text.replace(/[\s*.\-12]/gu, '');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const text = pieces.join('');
        expect(letters(plainCommentText(parseComment(text)))).toBe(letters(text));
        for (const line of plainCommentText(parseComment(text)).split('\n')) expect(line).not.toMatch(/\p{Cc}/u);
      }),
      cases(300),
    );
  });
});

describe('commentProblem', () => {
  it.each([
    ['', 'empty'],
    ['  \u200b\n- ', 'empty'],
    ['–', 'empty'],
    ['{{ s.m }}', undefined],
    [`${'𝄞'.repeat(MAX_COMMENT_LENGTH - 1)}a`, undefined],
    ['a'.repeat(MAX_COMMENT_LENGTH + 1), 'too_long'],
  ])('finds texts that are empty or too long: case %#', (text, problem) => {
    expect(commentProblem(text)).toBe(problem);
  });
});
