import { cutAtWord, withoutRestOfFigure } from '../../base/text/cut-text.ts';
import { disambiguateNames } from './chart-data.ts';

/** Puts a label on one line, without characters that XML cannot contain. The no-break spaces of figures stay. */
const labelLine = (text: string): string => text.replace(/(?:[\p{Cc}\p{Cs}\uFFFE\uFFFF]|[^\S\u00a0\u202f])+/gu, ' ');

const plainSpaces = (text: string): string => text.replace(/\s+/gu, ' ');

/** Puts a label on one line and truncates it to `letters`. */
export const truncateLabel = (text: string, letters: number): string =>
  plainSpaces(cutAtWord(labelLine(text), letters));

/** The end of a text, with at most this many UTF-16 units. It does not begin inside a word, a figure or a grapheme. */
function takeEnd(text: string, letters: number): string {
  let end = '';
  for (const { segment } of [...new Intl.Segmenter().segment(text)].reverse()) {
    if (end.length + segment.length > letters) break;
    end = segment + end;
  }
  const space = end.indexOf(' ');
  if (space >= 0) return end.slice(space);
  return withoutRestOfFigure(text.slice(0, text.length - end.length), end);
}

/** Truncates labels but keeps them unique: labels that differ only at the end are shortened in the middle. */
export const truncateLabels = (texts: readonly string[], letters: number): readonly string[] =>
  disambiguateNames(
    texts.map((text) => truncateLabel(text, letters)),
    (name, index) => {
      const whole = labelLine(texts[index] ?? name);
      if (whole.length <= letters) return name;
      const half = Math.floor((letters - 1) / 2);
      return plainSpaces(cutAtWord(whole, half + 1) + takeEnd(whole, half));
    },
  );
