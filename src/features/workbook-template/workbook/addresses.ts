/** A cell by row and column, both counted from 1. */
export interface CellAddress {
  readonly row: number;
  readonly column: number;
}

/** A rectangle of cells, including both corners. */
export interface CellRange {
  readonly from: CellAddress;
  readonly to: CellAddress;
}

/** Excel's limits. */
export const MAX_ROW = 1_048_576;
export const MAX_COLUMN = 16_384;

const CELL = /^\$?([A-Za-z]{1,3})\$?([1-9][0-9]{0,6})$/;
const COLUMN = /^\$?([A-Za-z]{1,3})$/;
const ROW = /^\$?([1-9][0-9]{0,6})$/;

/** `AB` as a number, counted from 1. Larger than `MAX_COLUMN` if Excel has no such column. */
export function columnNumber(letters: string): number {
  let number = 0;
  for (const letter of letters.toUpperCase()) number = number * 26 + letter.charCodeAt(0) - 64;
  return number;
}

/** The letters of a column, counted from 1. */
export function columnLetters(column: number): string {
  let letters = '';
  for (let left = column; left > 0; left = Math.floor((left - 1) / 26)) {
    letters = String.fromCharCode(65 + ((left - 1) % 26)) + letters;
  }
  return letters;
}

/** Parses `B4` or `$B$4`. Undefined for anything else, and for cells outside of Excel's sheets. */
export function parseCell(text: string): CellAddress | undefined {
  const [, letters, digits] = CELL.exec(text) ?? [];
  if (letters === undefined || digits === undefined) return undefined;
  const cell = { row: Number(digits), column: columnNumber(letters) };
  return cell.row <= MAX_ROW && cell.column <= MAX_COLUMN ? cell : undefined;
}

export const formatCell = ({ row, column }: CellAddress): string => `${columnLetters(column)}${row}`;

/** Parses `B4:C9`, `B4`, `B:C` or `4:9`, with or without `$`, corners in any order. Undefined for anything else. */
export function parseRange(text: string): CellRange | undefined {
  const [one = '', other = one, ...more] = text.split(':');
  if (more.length > 0) return undefined;
  const corners = parseCorners(one, other, text.includes(':'));
  if (corners === undefined) return undefined;
  const [a, b] = corners;
  return {
    from: { row: Math.min(a.row, b.row), column: Math.min(a.column, b.column) },
    to: { row: Math.max(a.row, b.row), column: Math.max(a.column, b.column) },
  };
}

function parseCorners(one: string, other: string, pair: boolean): [CellAddress, CellAddress] | undefined {
  const a = parseCell(one);
  const b = parseCell(other);
  if (a !== undefined && b !== undefined) return [a, b];
  if (!pair) return undefined;
  const columns = [COLUMN.exec(one)?.[1], COLUMN.exec(other)?.[1]].map((letters) => columnNumber(letters ?? ''));
  const [left = 0, right = 0] = columns;
  if (left > 0 && right > 0 && left <= MAX_COLUMN && right <= MAX_COLUMN) {
    return [
      { row: 1, column: left },
      { row: MAX_ROW, column: right },
    ];
  }
  const [top = 0, bottom = 0] = [ROW.exec(one)?.[1], ROW.exec(other)?.[1]].map((digits) => Number(digits ?? 0));
  if (top > 0 && bottom > 0 && top <= MAX_ROW && bottom <= MAX_ROW) {
    return [
      { row: top, column: 1 },
      { row: bottom, column: MAX_COLUMN },
    ];
  }
  return undefined;
}

/** Whether a range is one cell. */
export const isSingle = ({ from, to }: CellRange): boolean => from.row === to.row && from.column === to.column;

/** `B4:C9`, or `B4` for a single cell. */
export const formatRange = (range: CellRange): string =>
  isSingle(range) ? formatCell(range.from) : `${formatCell(range.from)}:${formatCell(range.to)}`;

/** A sheet's name for formulas, quoted if Excel needs it or in doubt. */
export const quoteSheetName = (name: string): string =>
  /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) &&
  parseCell(name) === undefined &&
  !/^(?:[rc]|r\d*c?\d*|c\d+|true|false)$/i.test(name)
    ? name
    : `'${name.replaceAll("'", "''")}'`;

const SHEET_RANGE = /^(?:'((?:[^']|'')+)'|([^'!:[\]]+))!([^!]+)$/;

/**
 * Parses `Board!$B$4` or `'Board pack'!$B$4:$C$9`, without `=`. Undefined for several sheets or ranges, other workbooks
 * and `#REF!`.
 */
export function parseSheetRange(formula: string): { readonly sheet: string; readonly range: CellRange } | undefined {
  const [, quoted, plain, cells = ''] = SHEET_RANGE.exec(formula.trim()) ?? [];
  const sheet = quoted?.replaceAll("''", "'") ?? plain;
  const range = parseRange(cells);
  return sheet === undefined || range === undefined || /[:[\]]/.test(sheet) ? undefined : { sheet, range };
}

/** Compares names of sheets or tables, which do not depend on case. */
export const sameName = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

/** Whether two ranges of a sheet share a cell. */
export const intersects = (one: CellRange, other: CellRange): boolean =>
  one.from.row <= other.to.row &&
  other.from.row <= one.to.row &&
  one.from.column <= other.to.column &&
  other.from.column <= one.to.column;
