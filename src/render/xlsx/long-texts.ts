import { DocketError } from '../../base/error.ts';
import type { Words } from '../../words/words.ts';

/** Characters (UTF-16 units) of a piece: a cell of Excel holds 32,767, and the note of where it goes on takes some. */
const PIECE = 32_000;
/** They stand in memory until the workbook ends. */
const MOST = 64 * 1024 * 1024;

/** A text that no cell can hold, in pieces that cells can hold. */
export interface LongText {
  readonly sheet: string;
  /** Its address there, e.g. `B7`. */
  readonly cell: string;
  readonly pieces: readonly string[];
}

export interface LongTexts {
  /** In the order in which they came; the first is number 1. */
  readonly kept: readonly LongText[];
  /** Keeps the whole text, and returns what its cell shows: its beginning, and where the whole is. */
  shorten(text: string, at: { readonly sheet: string; readonly cell: string }): string;
}

function piecesOf(text: string): string[] {
  // A line end of two characters must not become two where a piece ends between them.
  const plain = text.replace(/\r\n?/g, '\n');
  const pieces: string[] = [];
  for (let from = 0; from < plain.length; ) {
    let to = Math.min(from + PIECE, plain.length);
    if (to < plain.length && /[\ud800-\udbff]/.test(plain.charAt(to - 1))) to -= 1;
    pieces.push(plain.slice(from, to));
    from = to;
  }
  return pieces;
}

/**
 * Excel cuts what its cells cannot hold, or refuses the file. Here the cell keeps the beginning and says where the whole
 * stands: on a sheet of its own, in order.
 * @param name that sheet's name
 */
export function createLongTexts(name: string, { goesOn }: Words['workbook']['longTexts']): LongTexts {
  const kept: LongText[] = [];
  let characters = 0;
  return {
    kept,
    shorten: (text, { sheet, cell }) => {
      characters += text.length;
      if (characters > MOST) {
        throw new DocketError('render.failed', `The texts in "${sheet}" are too long for a workbook.`, {
          expected: `at most ${MOST.toLocaleString('en')} characters in all texts that no cell can hold`,
          got: `more, the last of them "${text.slice(0, 40)}…"`,
          next: 'Write this section as CSV instead.',
        });
      }
      const pieces = piecesOf(text);
      kept.push({ sheet, cell, pieces });
      return goesOn(pieces[0] ?? '', name, kept.length);
    },
  };
}
