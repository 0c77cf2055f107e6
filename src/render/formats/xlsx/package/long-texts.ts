import { DocketError } from '../../../../base/error.ts';
import type { Words } from '../../../../i18n/messages.ts';

/** UTF-16 units per chunk: below the limit of a cell, so that the reference to the full text fits. */
const LONG_TEXT_CHUNK_LENGTH = 32_000;
/** The limit for all long texts, because they stay in memory until the workbook is closed. */
const MAX_LONG_TEXT_LENGTH = 64 * 1024 * 1024;

/** A text that is too long for a cell, in chunks that fit. */
export interface LongText {
  readonly sheet: string;
  /** The address of its cell, e.g. `B7`. */
  readonly cell: string;
  readonly chunks: readonly string[];
}

export interface LongTextStore {
  /** In the order in which they were added; the first is number 1. */
  readonly texts: readonly LongText[];
  /**
   * Stores a text and returns its beginning with a reference to the full text. Throws `render.failed` above the limit.
   */
  shorten(text: string, at: { readonly sheet: string; readonly cell: string }): string;
}

function splitLongText(text: string): string[] {
  // A chunk that ended between CR and LF would turn one line break into two.
  const plain = text.replace(/\r\n?/g, '\n');
  const chunks: string[] = [];
  for (let from = 0; from < plain.length; ) {
    let to = Math.min(from + LONG_TEXT_CHUNK_LENGTH, plain.length);
    if (to < plain.length && /[\ud800-\udbff]/.test(plain.charAt(to - 1))) to -= 1;
    chunks.push(plain.slice(from, to));
    from = to;
  }
  return chunks;
}

/**
 * Stores the texts that exceed Excel's limit for a cell, for a sheet of their own. Excel would truncate them or reject
 * the file.
 * @param name the name of that sheet
 */
export function createLongTextStore(name: string, { goesOn }: Words['workbook']['longTexts']): LongTextStore {
  const texts: LongText[] = [];
  let characters = 0;
  return {
    texts,
    shorten: (text, { sheet, cell }) => {
      characters += text.length;
      if (characters > MAX_LONG_TEXT_LENGTH) {
        throw new DocketError('render.failed', `The texts in "${sheet}" are too long for a workbook.`, {
          expected: `at most ${MAX_LONG_TEXT_LENGTH.toLocaleString('en')} characters in all texts longer than a cell allows`,
          got: `more, the last of them "${text.slice(0, 40)}…"`,
          next: 'Write this section as CSV instead.',
        });
      }
      const chunks = splitLongText(text);
      texts.push({ sheet, cell, chunks });
      return goesOn(chunks[0] ?? '', name, texts.length);
    },
  };
}
