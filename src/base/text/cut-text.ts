/** White space that is never part of a figure. Texts keep the no-break spaces until they are cut. */
export const BREAKING_SPACES = /[^\S\u00a0\u202f]+/gu;

/** A figure at the end of a text that may go on behind the cut: 34, −34,3, 1'000 or ٣٤٬٣. */
const OPEN_FIGURE = /[-+−]?[\p{Nd}.,'’٫٬．，\u00a0\u202f]*\p{Nd}[.,'’٫٬．，\u00a0\u202f]*$/u;
/** What goes on as a figure may, and where one may have begun. */
const REST_OF_FIGURE = /^[\p{Nd}.,'’٫٬．，\u00a0\u202f]+/u;
const BEGUN_FIGURE = /[-+−\p{Nd}.,'’٫٬．，\u00a0\u202f]$/u;
/** A longer one is no word: it is cut. */
const MAX_WORD_LENGTH = 100;

/** The end of a text without the rest of a figure that begins before it. */
export const withoutRestOfFigure = (before: string, end: string): string =>
  BEGUN_FIGURE.test(before) ? end.replace(REST_OF_FIGURE, '') : end;

/** The beginning of a text that is one long word, without a figure at its end that may go on. */
export const withoutOpenFigure = (kept: string): string => kept.replace(OPEN_FIGURE, '').trimEnd();

/**
 * The beginning of a text without a part of a word, a figure or a grapheme. A figure may contain no-break spaces.
 * @param kept of the text, cut between graphemes
 */
export function wholeWords(text: string, kept: string): string {
  if (kept.length >= text.length) return text;
  const cutsWord = text.charAt(kept.length) !== ' ';
  const space = kept.lastIndexOf(' ');
  if (cutsWord && (space <= 0 || kept.length - space > MAX_WORD_LENGTH)) return withoutOpenFigure(kept);
  return (cutsWord ? kept.slice(0, space) : kept).replace(/[\s,;:–·-]+$/u, '');
}

/** The beginning of a text of at most `max` UTF-16 units: whole words and an ellipsis, where it goes on. */
export function cutAtWord(text: string, max: number): string {
  if (text.length <= max) return text;
  let kept = '';
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (kept.length + segment.length > max - 1) break;
    kept += segment;
  }
  return `${wholeWords(text, kept)}…`;
}
