import { tokenize } from '@borgar/fx/xlsx';
import { DocketError } from '../../../base/error.ts';

/**
 * A formula of a file in pieces: references by address, and the text between them as written. Names, structured references,
 * strings and functions are text. With the texts of the references, the pieces are the formula.
 */
export type FormulaPiece = string | FormulaReference;

/** A reference by address: a cell, a range of cells, whole columns or whole rows. */
export interface FormulaReference {
  readonly raw: string;
  /** As written, with its `!`; empty for the formula's own sheet. */
  readonly prefix: string;
  /** The sheet that the prefix names; null: the formula's own. */
  readonly sheet: string | null;
  /** It points into another workbook, or at several sheets (`Jan:Dec!A1`). */
  readonly elsewhere: 'workbook' | 'sheets' | null;
  readonly from: ReferenceCorner;
  /** Absent: a single cell. */
  readonly to?: ReferenceCorner;
  /** `:`, with dots that trim empty cells (`.:.`), or with spaces and the prefix of the second corner; empty for a single cell. */
  readonly separator: string;
}

/** A column and a row with their `$`; whole columns have no row, whole rows have no column. */
export interface ReferenceCorner {
  readonly column?: { readonly letters: string; readonly absolute: boolean };
  readonly row?: { readonly number: number; readonly absolute: boolean };
}

const CORNER = /^(?:(\$?)([A-Za-z]{1,3}))?(?:(\$?)([1-9]\d{0,6}))?$/;

/** Excel's own formulas have at most 8,192 characters, before functions and sheets get the prefixes of files. */
const MAX_CHARACTERS = 16_384;
/** The tokenizer looks for the end of a quoted name from each quotation mark on. */
const MAX_QUOTATION_MARKS = 1_000;

/** Formulas longer than Excel's are not read. */
export const isTooLong = (formula: string): boolean =>
  formula.length > MAX_CHARACTERS || (formula.match(/'/g)?.length ?? 0) > MAX_QUOTATION_MARKS;

/**
 * @param formula As files write it, with or without `=`.
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
    // A reference behind `!` belongs to a prefix that the tokenizer does not know, such as a path.
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

/** Two cells with a colon of their own between them are one range: `B5 : B8`, `Board!B5:Board!B8`. */
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

/** A reference with other corners. */
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

/** @param prefix With its `!`, or empty. */
function parsePrefix(prefix: string): Pick<FormulaReference, 'sheet' | 'elsewhere'> {
  if (prefix === '') return { sheet: null, elsewhere: null };
  const text = prefix.slice(0, -1);
  const name = text.startsWith("'") ? text.slice(1, -1).replaceAll("''", "'") : text;
  // Names of sheets have neither brackets nor colons.
  if (name.includes('[')) return { sheet: name, elsewhere: 'workbook' };
  return { sheet: name, elsewhere: name.includes(':') ? 'sheets' : null };
}
