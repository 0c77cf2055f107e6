/** A figure at the end of a text that may go on behind the cut: 34, 34,3 or 1'000. */
const OPEN_FIGURE = /[\d.,'’\u00a0\u202f]*\d[.,'’\u00a0\u202f]*$/u;

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
  if (cutsWord && space <= 0) return withoutOpenFigure(kept);
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
