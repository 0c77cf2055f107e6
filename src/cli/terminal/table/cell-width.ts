import stringWidth from 'fast-string-width';

/** Characters that take no cell. Joiners inside an emoji are measured with the emoji. */
const ZERO_WIDTH = /[\u00ad\u061c\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]|\u200d(?!\p{Emoji})/gu;
const ELLIPSIS = '…';

/**
 * The number of terminal cells of a text: 2 for a wide character, 0 for a combining one, a direction control or a
 * style.
 */
export const cellWidth = (text: string): number => stringWidth(text.replace(ZERO_WIDTH, ''));

/** Splits a text into what readers see as characters: a letter with its accents, an emoji of several parts. */
export const splitGraphemes = (text: string): readonly string[] =>
  Array.from(new Intl.Segmenter('en').segment(text), ({ segment }) => segment);

/** The first graphemes that fit, without an ellipsis. */
export function takeCells(graphemes: readonly string[], width: number): string {
  let taken = '';
  let used = 0;
  for (const grapheme of graphemes) {
    used += cellWidth(grapheme);
    if (used > width) break;
    taken += grapheme;
  }
  return taken;
}

/** The last graphemes that fit. */
const takeLastCells = (graphemes: readonly string[], width: number): string => {
  let taken = '';
  let used = 0;
  for (const grapheme of graphemes.toReversed()) {
    used += cellWidth(grapheme);
    if (used > width) break;
    taken = grapheme + taken;
  }
  return taken;
};

/** Cuts a text to a number of cells, with `…` at the end. */
export function cutEnd(text: string, width: number): string {
  if (cellWidth(text) <= width) return text;
  return width < 1 ? '' : `${takeCells(splitGraphemes(text), width - 1)}${ELLIPSIS}`;
}

/**
 * Cuts a text to a number of cells, with `…` in the middle, because both ends of a path or an address are informative.
 */
export function cutMiddle(text: string, width: number): string {
  if (cellWidth(text) <= width) return text;
  if (width < 3) return cutEnd(text, width);
  const graphemes = splitGraphemes(text);
  const head = takeCells(graphemes, Math.ceil((width - 1) / 2));
  return `${head}${ELLIPSIS}${takeLastCells(graphemes, width - 1 - cellWidth(head))}`;
}

/** Cuts `<org>/<report>` to a number of cells: first the organization, then the middle of the report. */
export function cutReport(name: string, width: number): string {
  if (cellWidth(name) <= width) return name;
  const [org = '', ...rest] = name.split('/');
  const report = rest.join('/');
  if (report === '') return cutMiddle(name, width);
  const room = width - cellWidth(report) - 1;
  return room >= 1 ? `${cutEnd(org, room)}/${report}` : `${ELLIPSIS}/${cutMiddle(report, Math.max(1, width - 2))}`;
}

/** The start of the text, `…`, and what follows from this grapheme on, within a number of cells. */
export function cutAround(graphemes: readonly string[], from: number, width: number): string {
  const head = takeCells(graphemes, Math.floor(width / 3));
  const room = width - cellWidth(head) - 1;
  // Uses all available space for the end, because the part from `from` on may be short.
  let start = Math.min(from, graphemes.length);
  while (start > 0 && cellWidth(graphemes.slice(start - 1).join('')) <= room) start -= 1;
  return `${head}${ELLIPSIS}${cutEnd(graphemes.slice(start).join(''), room)}`;
}
