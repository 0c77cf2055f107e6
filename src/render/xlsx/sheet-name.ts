/** Excel's limit, in UTF-16 units. */
const MAX_LENGTH = 31;

const cut = (text: string, length: number): string => {
  let kept = '';
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (kept.length + segment.length > length) break;
    kept += segment;
  }
  // One "character" of many marks can be longer than a whole name.
  return kept.trimEnd() || 'Sheet';
};

/**
 * Titles → sheet names that Excel takes: at most 31 characters, none of `[ ] : * ? / \`, no apostrophe at the ends,
 * unique whatever their case, not "History" (Excel's own). A name that had to give way ends in ` (2)`, ` (3)`, ….
 */
export function sheetNames(titles: readonly string[]): string[] {
  const taken = new Set(['history']);
  return titles.map((title) => {
    const plain = legalText(title)
      .replace(/\s+/g, ' ')
      .replace(/[[\]:*?/\\]/g, '-')
      // An apostrophe would have to be doubled wherever a range names the sheet; the typographic one reads the same.
      .replaceAll("'", '’')
      .trim();
    const stem = plain === '' ? 'Sheet' : plain;
    let name = cut(stem, MAX_LENGTH);
    for (let count = 2; taken.has(name.toLowerCase()); count += 1) {
      const suffix = ` (${count})`;
      name = cut(stem, MAX_LENGTH - suffix.length) + suffix;
    }
    taken.add(name.toLowerCase());
    return name;
  });
}

/**
 * Text as XML 1.0 and Excel can hold it: characters that XML has no way to write become U+FFFD, line ends become LF,
 * and what Excel would read as its own escape (`_x0041_`) is escaped.
 */
export function legalText(text: string): string {
  return (
    text
      .replace(/\r\n?/g, '\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]|[\ud800-\udfff]/gu, '\ufffd')
      .replace(/_(?=x[0-9a-fA-F]{4}_)/g, '_x005F_')
  );
}
