/** White space that is never part of a figure. Texts keep no-break spaces until they are cut. */
export const BREAKING_SPACES = /[^\S\u00a0\u202f]+/gu;

/** A figure at the end of a text that may continue after the cut: 34, −34,3, 1'000 or ٣٤٬٣. */
const OPEN_FIGURE = /[-+−]?[\p{Nd}.,'’٫٬．，\u00a0\u202f]*\p{Nd}[.,'’٫٬．，\u00a0\u202f]*$/u;
/** Text that may continue a figure, and text that may have begun one. */
const REST_OF_FIGURE = /^[\p{Nd}.,'’٫٬．，\u00a0\u202f]+/u;
const BEGUN_FIGURE = /[-+−\p{Nd}.,'’٫٬．，\u00a0\u202f]$/u;
/** Anything longer does not count as a word, and is cut. */
const MAX_WORD_LENGTH = 100;

/** The end of a text, without the rest of a figure that begins before it. */
export const withoutRestOfFigure = (before: string, end: string): string =>
  BEGUN_FIGURE.test(before) ? end.replace(REST_OF_FIGURE, '') : end;

/** The beginning of a text that is one long word, without a figure at its end that may continue. */
export const withoutOpenFigure = (kept: string): string => kept.replace(OPEN_FIGURE, '').trimEnd();

/**
 * The beginning of a text, without partial words, figures or graphemes at its end. A figure may contain no-break
 * spaces.
 * @param kept the beginning of the text, cut between graphemes
 */
export function wholeWords(text: string, kept: string): string {
  if (kept.length >= text.length) return text;
  const cutsWord = text.charAt(kept.length) !== ' ';
  const space = kept.lastIndexOf(' ');
  if (cutsWord && (space <= 0 || kept.length - space > MAX_WORD_LENGTH)) return withoutOpenFigure(kept);
  return (cutsWord ? kept.slice(0, space) : kept).replace(/[\s,;:–·-]+$/u, '');
}

/** The beginning of a text with at most `max` UTF-16 units: whole words, and an ellipsis if the text continues. */
export function cutAtWord(text: string, max: number): string {
  if (text.length <= max) return text;
  let kept = '';
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (kept.length + segment.length > max - 1) break;
    kept += segment;
  }
  return `${wholeWords(text, kept)}…`;
}
