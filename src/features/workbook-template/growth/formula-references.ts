import { tokenize } from '@borgar/fx/xlsx';
import { DocketError } from '../../../base/error.ts';

/**
 * A formula from a file in pieces: references by address, and the text in between. Names, structured references,
 * strings and functions count as text. The texts of all pieces together are the formula.
 */
export type FormulaPiece = string | FormulaReference;

/** A reference by address: a cell, a range of cells, whole columns or whole rows. */
export interface FormulaReference {
  readonly raw: string;
  /** As written, with its `!`. Empty for the formula's own sheet. */
  readonly prefix: string;
  /** The sheet that the prefix names. Null: the formula's own sheet. */
  readonly sheet: string | null;
  /** Whether it points into another workbook, or at several sheets (`Jan:Dec!A1`). */
  readonly elsewhere: 'workbook' | 'sheets' | null;
  readonly from: ReferenceCorner;
  /** Absent: a single cell. */
  readonly to?: ReferenceCorner;
  /**
   * `:`, with dots that trim empty cells (`.:.`), or with spaces and the prefix of the second corner. Empty for a
   * single cell.
   */
  readonly separator: string;
}

/** A column and a row, each with its `$`. Whole columns have no row, whole rows no column. */
export interface ReferenceCorner {
  readonly column?: { readonly letters: string; readonly absolute: boolean };
  readonly row?: { readonly number: number; readonly absolute: boolean };
}

const CORNER = /^(?:(\$?)([A-Za-z]{1,3}))?(?:(\$?)([1-9]\d{0,6}))?$/;

/** Excel allows 8,192 characters in a formula, not counting the prefixes that files add to functions and sheets. */
const MAX_CHARACTERS = 16_384;
/** The tokenizer searches for the end of a quoted name after every quotation mark, which would take too long. */
const MAX_QUOTATION_MARKS = 1_000;

/** Whether a formula is longer than Excel allows, or has too many quotation marks. Such formulas are not read. */
export const isTooLong = (formula: string): boolean =>
  formula.length > MAX_CHARACTERS || (formula.match(/'/g)?.length ?? 0) > MAX_QUOTATION_MARKS;

/**
 * @param formula as written in the file, with or without `=`
 * @throws DocketError `template.invalid` for a formula that is too long
 */
export function parseFormula(formula: string): readonly FormulaPiece[] {
  if (isTooLong(formula)) {
    throw new DocketError('template.invalid', 'A formula of the template is too long.', {
      expected: `at most ${MAX_CHARACTERS.toLocaleString('en')} characters and ${MAX_QUOTATION_MARKS.toLocaleString('en')} quotation marks`,
      got: `${formula.length.toLocaleString('en')} characters: ${formula.slice(0, 40)}…`,
      next: 'Split the formula into several cells.',
    });
  }
  const pieces: FormulaPiece[] = [];
  let text = '';
  for (const { type, value } of tokenize(formula, { negativeNumbers: false })) {
    // A reference after `!` belongs to a prefix that the tokenizer does not know, such as a path.
    const reference = (type === 'range' || type === 'range_beam') && !text.endsWith('!') ? parseReference(value) : null;
    if (reference === null) {
      text += value;
      continue;
    }
    if (text !== '') pieces.push(text);
    text = '';
    pieces.push(reference);
  }
  if (text !== '') pieces.push(text);
  return joinCorners(pieces);
}

/** Joins two cells around a separate colon into one range: `B5 : B8`, `Board!B5:Board!B8`. */
function joinCorners(pieces: readonly FormulaPiece[]): readonly FormulaPiece[] {
  const joined: FormulaPiece[] = [];
  for (const piece of pieces) {
    const [from, colon] = joined.slice(-2);
    if (
      typeof piece === 'string' ||
      typeof colon !== 'string' ||
      typeof from !== 'object' ||
      !/^\s*:\s*$/.test(colon) ||
      from.prefix !== piece.prefix ||
      from.to !== undefined ||
      piece.to !== undefined
    ) {
      joined.push(piece);
      continue;
    }
    const separator = colon + piece.prefix;
    joined.splice(-2, 2, { ...from, raw: from.raw + colon + piece.raw, to: piece.from, separator });
  }
  return joined;
}

/** The text of a reference with other corners. */
export const formatReference = (
  { prefix, separator }: FormulaReference,
  from: ReferenceCorner,
  to?: ReferenceCorner,
): string => `${prefix}${formatCorner(from)}${separator}${to === undefined ? '' : formatCorner(to)}`;

export const formatCorner = ({ column, row }: ReferenceCorner): string =>
  (column === undefined ? '' : `${column.absolute ? '$' : ''}${column.letters}`) +
  (row === undefined ? '' : `${row.absolute ? '$' : ''}${row.number}`);

function parseReference(raw: string): FormulaReference | null {
  const end = raw.lastIndexOf('!') + 1;
  const prefix = raw.slice(0, end);
  const [, first = '', separator = '', second = ''] = /^([^.:]+)(\.?:\.?)?(.*)$/.exec(raw.slice(end)) ?? [];
  const from = parseCorner(first);
  const to = separator === '' ? undefined : parseCorner(second);
  if (from === null || to === null) return null;
  return { raw, prefix, ...parsePrefix(prefix), from, ...(to === undefined ? {} : { to }), separator };
}

function parseCorner(text: string): ReferenceCorner | null {
  const match = CORNER.exec(text);
  if (match === null || text === '') return null;
  const [, columnMark, letters, rowMark, digits] = match;
  return {
    ...(letters === undefined ? {} : { column: { letters, absolute: columnMark === '$' } }),
    ...(digits === undefined ? {} : { row: { number: Number(digits), absolute: rowMark === '$' } }),
  };
}

/** @param prefix with its `!`, or empty */
function parsePrefix(prefix: string): Pick<FormulaReference, 'sheet' | 'elsewhere'> {
  if (prefix === '') return { sheet: null, elsewhere: null };
  const text = prefix.slice(0, -1);
  const name = text.startsWith("'") ? text.slice(1, -1).replaceAll("''", "'") : text;
  // Sheet names cannot contain brackets or colons.
  if (name.includes('[')) return { sheet: name, elsewhere: 'workbook' };
  return { sheet: name, elsewhere: name.includes(':') ? 'sheets' : null };
}
