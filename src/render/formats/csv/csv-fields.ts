import type { Value } from '../../../fetch/dataset.ts';

/** The start of a formula for a spreadsheet, with leading whitespace or full-width signs too. */
const FORMULA = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/;

/** The same after a semicolon, a tab or a line break, which end a field for some spreadsheets, e.g. German Excel. */
// Searches backwards from the sign: forwards from each line break, the search would be quadratic.
const FORMULA_AFTER_BREAK = /(?=[=+\-@＝＋－＠])(?<=[;\t\r\n]\s*)/g;

/** A quick check that spares most texts the search backwards. */
const FIELD_BREAK = /[;\t\r\n]/;

/** Ends a field, a record or a quotation. Readers accept a single CR or LF as the end of a record. */
const SPECIAL = /[",\r\n]/;

/** Puts an apostrophe in front of everything that a spreadsheet could run as a formula. */
export const escapeFormula = (text: string): string => {
  const within = FIELD_BREAK.test(text) ? text.replaceAll(FORMULA_AFTER_BREAK, "'") : text;
  return FORMULA.test(text) ? `'${within}` : within;
};

/** What a workbook replaces, too: control characters other than tab and line ends, halves of characters, U+FFFE and U+FFFF. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches control characters
const ILLEGAL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]|[\ud800-\udfff]/gu;

/** Text as CSV files and their schemas show it: without what many programs cannot read and, unless `raw`, what they would run. */
export const fieldText = (text: string, raw = false): string => {
  const legal = text.replace(ILLEGAL, '\ufffd');
  return raw ? legal : escapeFormula(legal);
};

/** A text as one field (RFC 4180). An empty text is quoted, to distinguish it from an undefined value. */
export const quoteField = (text: string): string =>
  text === '' || SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

/** Formats raw values as fields. Numbers are not escaped: a spreadsheet reads `-5` as a number. */
export const rawFieldWriter =
  (escapeText: (text: string) => string) =>
  (value: Value): string => {
    if (typeof value === 'number') return `${value}`;
    if (value === null) return '';
    return typeof value === 'boolean' ? `${value}` : quoteField(escapeText(value));
  };

/** Ends a record. A single empty field is quoted, to distinguish the record from a blank line. */
export const terminateRecord = (fields: string): string => `${fields === '' ? '""' : fields}\r\n`;
