import { legalText } from './text.ts';

/** Excel's limit, in UTF-16 units. */
const MAX_LENGTH = 31;

const cut = (text: string, length: number, unnamed: string): string => {
  let kept = '';
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (kept.length + segment.length > length) break;
    kept += segment;
  }
  // One "character" of many marks can be longer than a whole name.
  return kept.trimEnd() || unnamed;
};

/**
 * Titles → sheet names that Excel takes: at most 31 characters, none of `[ ] : * ? / \`, no apostrophe at the ends,
 * unique whatever their case, not "History" (Excel's own). A name that had to give way ends in ` (2)`, ` (3)`, ….
 * @param unnamed where a title leaves nothing
 */
export function sheetNames(titles: readonly string[], unnamed: string): string[] {
  const taken = new Set(['history']);
  return titles.map((title) => {
    const plain = legalText(title)
      .replace(/\s+/g, ' ')
      // What turns the reading direction around would do so to the names beside it.
      .replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
      .replace(/[[\]:*?/\\]/g, '-')
      // An apostrophe would have to be doubled wherever a range names the sheet; the typographic one reads the same.
      .replaceAll("'", '’')
      .trim();
    const stem = plain === '' ? unnamed : plain;
    let name = cut(stem, MAX_LENGTH, unnamed);
    for (let count = 2; taken.has(name.toLowerCase()); count += 1) {
      const suffix = ` (${count})`;
      name = cut(stem, MAX_LENGTH - suffix.length, unnamed) + suffix;
    }
    taken.add(name.toLowerCase());
    return name;
  });
}
