import { cutAtWord, withoutRestOfFigure } from '../../base/text/cut-text.ts';
import { disambiguateNames } from './chart-data.ts';

/** A label on one line, without characters that XML cannot contain. It keeps the no-break spaces that a figure may have. */
const labelLine = (text: string): string => text.replace(/(?:[\p{Cc}\p{Cs}\uFFFE\uFFFF]|[^\S\u00a0\u202f])+/gu, ' ');

const plainSpaces = (text: string): string => text.replace(/\s+/gu, ' ');

/** The line of a label, truncated to `letters`. */
export const truncateLabel = (text: string, letters: number): string =>
  plainSpaces(cutAtWord(labelLine(text), letters));

/** The end of a text of at most so many UTF-16 units, without a part of a word, a figure or a grapheme. */
function endOf(text: string, letters: number): string {
  let end = '';
  for (const { segment } of [...new Intl.Segmenter().segment(text)].reverse()) {
    if (end.length + segment.length > letters) break;
    end = segment + end;
  }
  const space = end.indexOf(' ');
  if (space >= 0) return end.slice(space);
  return withoutRestOfFigure(text.slice(0, text.length - end.length), end);
}

/** Truncated labels that stay unique: those that differ only at the end are shortened in the middle. */
export const truncateLabels = (texts: readonly string[], letters: number): readonly string[] =>
  disambiguateNames(
    texts.map((text) => truncateLabel(text, letters)),
    (name, index) => {
      const whole = labelLine(texts[index] ?? name);
      if (whole.length <= letters) return name;
      const half = Math.floor((letters - 1) / 2);
      return plainSpaces(cutAtWord(whole, half + 1) + endOf(whole, half));
    },
  );
