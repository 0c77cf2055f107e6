import type { Value } from '../../../fetch/dataset.ts';

/** The characters that separate fields. */
export const SEPARATORS = { comma: ',', semicolon: ';', tab: '\t' } as const;
export type Separator = keyof typeof SEPARATORS;

/** The start of a formula in a spreadsheet, also with leading whitespace or full-width signs. */
const FORMULA = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/;

/** A formula after a semicolon, a tab or a line break, which end a field in some spreadsheets, e.g. German Excel. */
// Searches backwards from the sign: a forward search from each line break would be quadratic.
const FORMULA_AFTER_BREAK = /(?=[=+\-@＝＋－＠])(?<=[;\t\r\n]\s*)/g;
/** The same also after a comma, for files that do not separate fields by commas: other spreadsheets do. */
const FORMULA_AFTER_COMMA = /(?=[=+\-@＝＋－＠])(?<=[,;\t\r\n]\s*)/g;

/** A quick check that saves most texts the backward search. */
const FIELD_BREAK = /[,;\t\r\n]/;

/**
 * Characters that need quotes because they end a field, a record or a quotation. Readers accept a single CR or LF as
 * the end of a record.
 */
const SPECIAL = { comma: /[",\r\n]/, semicolon: /[";\r\n]/, tab: /["\t\r\n]/ };

/** Puts an apostrophe before everything that a spreadsheet could run as a formula. */
export const escapeFormula = (text: string, separator: Separator = 'comma'): string => {
  const formula = separator === 'comma' ? FORMULA_AFTER_BREAK : FORMULA_AFTER_COMMA;
  const within = FIELD_BREAK.test(text) ? text.replaceAll(formula, "'") : text;
  return FORMULA.test(text) ? `'${within}` : within;
};

/**
 * Characters that workbooks replace as well: control characters except tab and line breaks, unpaired surrogates, U+FFFE
 * and U+FFFF.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches control characters
const ILLEGAL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]|[\ud800-\udfff]/gu;

/**
 * Text for CSV files and their schemas: without characters that many programs cannot read and, unless `raw`, without
 * formulas that they would run.
 */
export const fieldText = (
  text: string,
  { raw = false, separator }: { readonly raw?: boolean | undefined; readonly separator: Separator },
): string => {
  const legal = text.replace(ILLEGAL, '\ufffd');
  return raw ? legal : escapeFormula(legal, separator);
};

/**
 * Writes a raw value as text. Undefined figures stay null. Texts are escaped; numbers are not, because a spreadsheet
 * reads `-5` as a number.
 */
export const rawText =
  (escapeText: (text: string) => string) =>
  (value: Value): string | null =>
    value === null ? null : typeof value === 'string' ? escapeText(value) : `${value}`;

/**
 * Creates a function that writes one record of a file (RFC 4180). A null field has no value and stays empty; an empty
 * text is quoted, so that the two differ. A single empty field is quoted, so that the record differs from a blank line.
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
