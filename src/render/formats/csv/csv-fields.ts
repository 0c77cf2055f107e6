import type { Value } from '../../../fetch/dataset.ts';

/** The characters that separate fields. */
export const SEPARATORS = { comma: ',', semicolon: ';', tab: '\t' } as const;
export type Separator = keyof typeof SEPARATORS;

/** The start of a formula for a spreadsheet, with leading whitespace or full-width signs too. */
const FORMULA = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/;

/** The same after a semicolon, a tab or a line break, which end a field for some spreadsheets, e.g. German Excel. */
// Searches backwards from the sign: forwards from each line break, the search would be quadratic.
const FORMULA_AFTER_BREAK = /(?=[=+\-@＝＋－＠])(?<=[;\t\r\n]\s*)/g;
/** The same where commas do not separate the fields: they do for other spreadsheets. */
const FORMULA_AFTER_COMMA = /(?=[=+\-@＝＋－＠])(?<=[,;\t\r\n]\s*)/g;

/** A quick check that spares most texts the search backwards. */
const FIELD_BREAK = /[,;\t\r\n]/;

/** What ends a field, a record or a quotation. Readers accept a single CR or LF as the end of a record. */
const SPECIAL = { comma: /[",\r\n]/, semicolon: /[";\r\n]/, tab: /["\t\r\n]/ };

/** Puts an apostrophe in front of everything that a spreadsheet could run as a formula. */
export const escapeFormula = (text: string, separator: Separator = 'comma'): string => {
  const formula = separator === 'comma' ? FORMULA_AFTER_BREAK : FORMULA_AFTER_COMMA;
  const within = FIELD_BREAK.test(text) ? text.replaceAll(formula, "'") : text;
  return FORMULA.test(text) ? `'${within}` : within;
};

/** What a workbook replaces, too: control characters other than tab and line ends, halves of characters, U+FFFE and U+FFFF. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches control characters
const ILLEGAL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]|[\ud800-\udfff]/gu;

/** Text as CSV files and their schemas show it: without what many programs cannot read and, unless `raw`, what they would run. */
export const fieldText = (
  text: string,
  { raw = false, separator }: { readonly raw?: boolean | undefined; readonly separator: Separator },
): string => {
  const legal = text.replace(ILLEGAL, '\ufffd');
  return raw ? legal : escapeFormula(legal, separator);
};

/** Raw values as text; undefined figures stay null. Texts are escaped, numbers are not: a spreadsheet reads `-5` as a number. */
export const rawText =
  (escapeText: (text: string) => string) =>
  (value: Value): string | null =>
    value === null ? null : typeof value === 'string' ? escapeText(value) : `${value}`;

/**
 * One record of a file (RFC 4180). A field is null where a value is undefined: it stays empty, and an empty text is quoted to
 * distinguish it. A single empty field is quoted, to distinguish the record from a blank line.
 */
export const recordWriter = (separator: Separator): ((fields: readonly (string | null)[]) => string) => {
  const [special, character] = [SPECIAL[separator], SEPARATORS[separator]];
  return (fields) => {
    let record = '';
    let between = '';
    for (const text of fields) {
      record += between;
      between = character;
      if (text !== null) record += text === '' || special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    }
    return `${record === '' ? '""' : record}\r\n`;
  };
};
