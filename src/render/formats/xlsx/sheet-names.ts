import { BREAKING_SPACES, withoutOpenFigure } from '../../../base/text/cut-text.ts';
import { toLegalText } from './package/xml-text.ts';

/** Excel's limit, in UTF-16 units. */
const MAX_SHEET_NAME_LENGTH = 31;
/** A name is cut between words if at least this many characters remain. */
const MIN_WHOLE_WORDS_LENGTH = 10;
/** Shorter words connect others, so a name never ends with one of them or with a comma. */
const DANGLING_END = /(?:\s+\p{Ll}{1,3})?[\s,;–-]*$/u;

/** Shortens a name to this many UTF-16 units, if possible between words. */
function truncateSheetName(text: string, length: number, unnamed: string): string {
  if (text.length <= length) return text;
  let name = '';
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (name.length + segment.length > length) break;
    name += segment;
  }
  const cutsWord = text.charAt(name.length) !== ' ';
  const words = (cutsWord ? name.slice(0, Math.max(0, name.lastIndexOf(' '))) : name).replace(DANGLING_END, '');
  // A single grapheme with many combining marks can exceed the limit.
  const short = words.length >= MIN_WHOLE_WORDS_LENGTH ? words : cutsWord ? withoutOpenFigure(name) : name.trimEnd();
  // If a title begins with a number that is too long, the name is made from what follows it.
  const rest = short === '' ? text.replace(/^[^ ]+ */u, '') : '';
  return short || (rest === '' ? unnamed : truncateSheetName(rest, length, unnamed));
}

/**
 * Makes valid and unique Excel sheet names from titles: at most 31 characters, none of `[ ] : * ? / \`, no apostrophe
 * at the ends, unique ignoring case, and not "History" (reserved by Excel). Duplicates get ` (2)`, ` (3)`, ….
 * @param unnamed used if no character of a title is allowed
 */
export function sheetNames(titles: readonly string[], unnamed: string): string[] {
  const taken = new Set(['history']);
  return titles.map((title) => {
    const plain = toLegalText(title)
      .replace(BREAKING_SPACES, ' ')
      // Direction marks and overrides would affect the neighbouring tabs.
      .replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
      .replace(/[[\]:*?/\\]/g, '-')
      // An apostrophe would have to be doubled in every reference to the sheet. The typographic one needs no escape.
      .replaceAll("'", '’')
      .trim();
    const stem = plain === '' ? unnamed : plain;
    const truncated = (length: number) => truncateSheetName(stem, length, unnamed).replace(/\s+/g, ' ');
    let name = truncated(MAX_SHEET_NAME_LENGTH);
    for (let count = 2; taken.has(name.toLowerCase()); count += 1) {
      const suffix = ` (${count})`;
      name = truncated(MAX_SHEET_NAME_LENGTH - suffix.length) + suffix;
    }
    taken.add(name.toLowerCase());
    return name;
  });
}
