/** Height of one line of text, in points. */
export const LINE_POINTS = 12.75;

/** The columns that a text goes across. */
export interface LineWidth {
  readonly columns: number;
  readonly characters: number;
}

/** How many lines `text` takes in a column of `width` characters, wrapped between words as Excel does. */
export function lineCount(text: string, width: number): number {
  const columns = width >= 1 ? Math.floor(width) : 1;
  if (text.length <= columns && !text.includes('\n')) return 1;
  return text.split('\n').reduce((lines, paragraph) => {
    let used = 0;
    let count = 1;
    for (const word of paragraph.split(' ')) {
      if (used > 0 && used + 1 + word.length > columns) {
        count += 1;
        used = 0;
      }
      used += word.length + (used > 0 ? 1 : 0);
      // A word longer than the column breaks at the column's end.
      count += Math.max(0, Math.ceil(used / columns) - 1);
      used = used > columns ? used % columns : used;
    }
    return lines + count;
  }, 0);
}

/** The height in points of a row of so many lines. */
export const lineHeightPoints = (lines: number): number => lines * LINE_POINTS + 1.5;

/** The height in points of a row with these texts in columns of these widths; at least one line. */
export const textRowPoints = (...texts: readonly (readonly [text: string | undefined, width: number])[]): number =>
  lineHeightPoints(Math.max(1, ...texts.map(([text, width]) => lineCount(text ?? '', width))));

export const totalWidth = (widths: readonly number[]): number => widths.reduce((sum, width) => sum + width, 0);
