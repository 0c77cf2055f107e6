import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseComment, spansText } from '../../../src/definitions/commentary/comment-text.ts';
import { blockLines, shortenLines, splitParts } from '../../../src/render/pack/review/block-lines.ts';
import { cases } from '../../support/fuzz.ts';

const shortened = (text: string, characters: number, lines = 12) => {
  const { lines: shown, cut } = shortenLines(blockLines(parseComment(text)), characters, lines);
  return { lines: shown.map(({ marker, spans }) => `${marker} ${spansText(spans)}`.trim()), cut };
};

describe('the beginning of a note', () => {
  it('is the whole note when it is short enough', () => {
    expect(shortened('One **two**.\n\n- a\n- b\n\n1. c', 400)).toEqual({
      lines: ['One two.', '• a', '• b', '1. c'],
      cut: false,
    });
    expect(shortened('x'.repeat(400), 400).cut).toBe(false);
  });

  it('ends after a word, even within an emphasis, and says that it was cut', () => {
    expect(shortened('aaa bbb ccc ddd', 9)).toEqual({ lines: ['aaa bbb …'], cut: true });
    expect(shortened('aaa **bbb ccc** ddd', 9)).toEqual({ lines: ['aaa bbb …'], cut: true });
    // A single word longer than the limit.
    expect(shortened('x'.repeat(401), 400)).toEqual({ lines: [`${'x'.repeat(400)} …`], cut: true });
  });

  it('has a limited number of lines, and leaves out what comes after the cut', () => {
    expect(shortened('- a\n- b\n- c\n\nlast', 400, 2)).toEqual({ lines: ['• a', '• b'], cut: true });
    expect(shortened('aaa bbb\n\nccc', 7)).toEqual({ lines: ['aaa bbb'], cut: true });
  });

  it('neither splits nor changes a character', () => {
    const flag = '🇨🇭';
    expect(shortened(flag.repeat(3), 6).lines).toEqual([`${flag} …`]);
    const note = fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(note, fc.integer({ min: 40, max: 120 }), (words, max) => {
        const spans = words.map((text, index) => ({ text, ...(index % 2 === 0 ? {} : { emphasis: 'em' as const }) }));
        const parts = splitParts(spans, max);
        for (const part of parts) expect(spansText(part).length).toBeLessThanOrEqual(max);
        expect(parts.map(spansText).join('').replace(/\s/g, '')).toBe(words.join('').replace(/\s/g, ''));
      }),
      cases(1_000),
    );
  });
});
