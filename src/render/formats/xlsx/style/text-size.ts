/** Height of one line of text, in points. */
export const LINE_POINTS = 12.75;

/** The columns that a text spans. */
export interface LineWidth {
  readonly columns: number;
  readonly characters: number;
}

/** Advance widths of Arial, in thousandths of the font size. Letters with accents are as wide as those without. */
const WIDTHS: ReadonlyMap<string, number> = new Map(
  (
    [
      [222, "'ijl’‘"],
      [278, ' !,./:;I[\\]ft|'],
      [333, '()-`r{}"“”·'],
      [389, '*'],
      [500, 'Jcksvxyz^'],
      [556, '#$0123456789?L_abdeghnopqu–«»€'],
      [611, 'FTZ+<=>~ß●■'],
      [667, '&ABEKPSVXY'],
      [722, 'CDHNRUw'],
      [778, 'GOQ◆'],
      [833, 'Mm'],
      [944, 'W%'],
    ] as const
  ).flatMap(([width, letters]) => [...letters].map((letter) => [letter, width] as const)),
);
/** The width of any other letter, and of letters that fill a square, like East Asian ones. */
const [OTHER_WIDTH, SQUARE_WIDTH] = [750, 1000];
const FIRST_SQUARE = 0x1100;
/** The width of one character of a column: Excel's columns have 5.25 points for each at a text size of 10. */
const CHARACTER_WIDTH = 525;
/** How much wider bold text is. */
const BOLD = 1.1;

function letterWidth(letter: string): number {
  const known = WIDTHS.get(letter) ?? WIDTHS.get(letter.normalize('NFD').charAt(0));
  return known ?? ((letter.codePointAt(0) ?? 0) < FIRST_SQUARE ? OTHER_WIDTH : SQUARE_WIDTH);
}

/** The width of `text`, in characters of a column's width. */
export function textWidth(text: string, { bold = false }: { readonly bold?: boolean } = {}): number {
  let width = 0;
  for (const letter of text) width += letterWidth(letter);
  return (width * (bold ? BOLD : 1)) / CHARACTER_WIDTH;
}

/** Counts wrapped lines: text wraps between words, and a word that is wider than the column breaks at its end. */
function wrappedLines(text: string, width: number, widthOf: (text: string) => number): number {
  const space = widthOf(' ');
  return text.split('\n').reduce((lines, paragraph) => {
    let used = 0;
    let count = 1;
    for (const word of paragraph.split(' ')) {
      const wide = widthOf(word);
      if (used > 0 && used + space + wide > width) {
        count += 1;
        used = 0;
      }
      used += wide + (used > 0 ? space : 0);
      count += Math.max(0, Math.ceil(used / width) - 1);
      used = used > width ? used % width : used;
    }
    return lines + count;
  }, 0);
}

/**
 * The number of lines that `text` takes in a column of `width` characters, wrapped between words like Excel does. An
 * upper estimate by the number of letters, for the cells of long tables.
 */
export function lineCount(text: string, width: number): number {
  const columns = width >= 1 ? Math.floor(width) : 1;
  if (text.length <= columns && !text.includes('\n')) return 1;
  return wrappedLines(text, columns, ({ length }) => length);
}

/** The number of lines of a text, measured by the widths of its letters. */
export const measuredLineCount = (text: string, width: number, { bold = false } = {}): number =>
  wrappedLines(text, width >= 1 ? width : 1, (part) => textWidth(part, { bold }));

/** The height in points of a row with this many lines. */
export const lineHeightPoints = (lines: number): number => lines * LINE_POINTS + 1.5;

/** The height in points of a row with these texts in columns of these widths; at least one line. */
export const textRowPoints = (...texts: readonly (readonly [text: string | undefined, width: number])[]): number =>
  lineHeightPoints(Math.max(1, ...texts.map(([text, width]) => measuredLineCount(text ?? '', width))));

export const totalWidth = (widths: readonly number[]): number => widths.reduce((sum, width) => sum + width, 0);
