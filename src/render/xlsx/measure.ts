/** Points that one line of our text takes. */
export const LINE_POINTS = 15;

/** How many lines `text` takes in a column of `width` characters, wrapped between words as Excel does. */
export function linesOf(text: string, width: number): number {
  const room = Math.max(1, Math.floor(width));
  if (text.length <= room && !text.includes('\n')) return 1;
  return text.split('\n').reduce((lines, paragraph) => {
    let used = 0;
    let count = 1;
    for (const word of paragraph.split(' ')) {
      if (used > 0 && used + 1 + word.length > room) {
        count += 1;
        used = 0;
      }
      used += word.length + (used > 0 ? 1 : 0);
      // A word longer than the column is broken wherever the column ends.
      count += Math.max(0, Math.ceil(used / room) - 1);
      used = used > room ? used % room : used;
    }
    return lines + count;
  }, 0);
}

/** The height in points of a row of so many lines. */
export const pointsOf = (lines: number): number => lines * LINE_POINTS + 3;

/** The height in points of a row whose texts stand in columns of these widths; never less than a line. */
export const heightOf = (...texts: readonly (readonly [text: string | undefined, width: number])[]): number =>
  pointsOf(Math.max(1, ...texts.map(([text, width]) => linesOf(text ?? '', width))));
