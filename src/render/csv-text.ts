import type { Value } from '../fetch/dataset.ts';

/** What a spreadsheet would take for a formula, blanks in front or full-width signs included. */
const FORMULA = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/;

/** The same behind a semicolon, a tab or a line break: where those end a field, as in German Excel, it is a cell's beginning. */
// From the sign backwards: from each line break forwards, a text of a million of them would take hours.
const FORMULA_WITHIN = /(?=[=+\-@＝＋－＠])(?<=[;\t\r\n]\s*)/g;

/** Without one of these no cell begins within: most texts have none, and the search backwards costs several times this. */
const WITHIN = /[;\t\r\n]/;

/** What ends a field, a record or a quotation; readers take either a CR or an LF alone for the end of a record. */
const SPECIAL = /[",\r\n]/;

/** Text that a spreadsheet would run as a formula, wherever it may see a cell begin, gets an apostrophe in front. */
export const neutral = (text: string): string => {
  const within = WITHIN.test(text) ? text.replaceAll(FORMULA_WITHIN, "'") : text;
  return FORMULA.test(text) ? `'${within}` : within;
};

/** A text as one field (RFC 4180). An empty text is not nothing: it is quoted, and an undefined value is not. */
export const field = (text: string): string =>
  text === '' || SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

/** A raw value as one field. Numbers are never neutralised: a spreadsheet reads `-5` as the number it is. */
export const rawField =
  (guard: (text: string) => string) =>
  (value: Value): string => {
    if (typeof value === 'number') return `${value}`;
    if (value === null) return '';
    return typeof value === 'boolean' ? `${value}` : field(guard(value));
  };

/** Fields as one record. Of a single empty field, a reader could not tell the record from a blank line. */
export const record = (fields: string): string => `${fields === '' ? '""' : fields}\r\n`;
