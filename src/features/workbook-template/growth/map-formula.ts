import {
  type CellAddress,
  type CellRange,
  columnLetters,
  columnNumber,
  MAX_COLUMN,
  MAX_ROW,
} from '../workbook/addresses.ts';
import {
  type FormulaReference,
  formatCorner,
  formatReference,
  parseFormula,
  type ReferenceCorner,
} from './formula-references.ts';
import type { ReferenceMap } from './growth.ts';

/** Where in the template a formula is. */
export interface FormulaPlace {
  readonly row: number;
  /**
   * Whether the formula is in the body of a bound table, or applies to each cell of a range. It is then relative to its
   * row: a range whose end has no `$` ends with the formula's row (`SUM(B$2:B5)`), not with the table.
   */
  readonly filled: boolean;
}

/**
 * The formula for the filled workbook. References by address follow the growth. Names, structured references, strings,
 * and references to other workbooks or to several sheets stay unchanged.
 * @param sheet of the formula
 * @param place absent: the formula is not in a cell, but in a name or a chart
 * @param single how to treat a reference to one cell; `B5:B5` is always a table of one row
 */
export function mapFormula(
  formula: string,
  sheet: string,
  map: ReferenceMap,
  place?: FormulaPlace,
  single: 'cell' | 'body' = 'cell',
): string {
  if (!map.changes) return formula;
  return parseFormula(formula)
    .map((piece) => (typeof piece === 'string' ? piece : mapReference(piece, sheet, map, place, single)))
    .join('');
}

/**
 * Maps the references of merged cells and selections. Each corner moves with its cell; no range grows, unlike in
 * formulas.
 */
export const mapCorners = (formula: string, sheet: string, map: ReferenceMap): string =>
  mapFormula(formula, sheet, map, { row: 0, filled: true });

function mapReference(
  reference: FormulaReference,
  ownSheet: string,
  map: ReferenceMap,
  place: FormulaPlace | undefined,
  single: 'cell' | 'body',
): string {
  const { raw, elsewhere, from, to } = reference;
  // Whole columns stay unchanged.
  if (elsewhere !== null || from.row === undefined) return raw;
  const sheet = reference.sheet ?? ownSheet;
  const start = { row: from.row.number, column: from.column === undefined ? 1 : columnNumber(from.column.letters) };
  if (to === undefined) {
    if (single === 'cell') return formatReference(reference, withRow(from, map.cell(sheet, start).row));
    const body = map.range(sheet, { from: start, to: start }, 'body');
    if (body.from.row === body.to.row) return formatReference(reference, withRow(from, body.from.row));
    return formatReference({ ...reference, separator: ':' }, withRow(from, body.from.row), withRow(from, body.to.row));
  }
  if (to.row === undefined) return raw;
  const end = {
    row: to.row.number,
    column: to.column === undefined ? MAX_COLUMN : columnNumber(to.column.letters),
  };
  if (place !== undefined && sheet.toLowerCase() === ownSheet.toLowerCase() && endsWithItsRow(place, from, to)) {
    return formatReference(reference, withRow(from, map.cell(sheet, start).row), withRow(to, map.cell(sheet, end).row));
  }
  const mapped = map.range(sheet, toRange(start, end), 'body');
  // Files may name the lower corner first.
  const [fromRow, toRow] = start.row <= end.row ? [mapped.from.row, mapped.to.row] : [mapped.to.row, mapped.from.row];
  const first = withRow(from, fromRow);
  const second = withRow(to, toRow);
  // Where a cell counts as a table of one row (`body`), Excel writes a range that has shrunk to one cell as a cell. In
  // formulas, `B5:B5` stays a range.
  const isCell = from.column !== undefined && start.row !== end.row && formatCorner(first) === formatCorner(second);
  return single === 'body' && isCell
    ? formatReference({ ...reference, separator: '' }, first)
    : formatReference(reference, first, second);
}

const toRange = (one: CellAddress, other: CellAddress): CellRange => ({
  from: { row: Math.min(one.row, other.row), column: Math.min(one.column, other.column) },
  to: { row: Math.max(one.row, other.row), column: Math.max(one.column, other.column) },
});

/** Whether the range ends with the row of its formula: a running total, or cells beside the formula. */
function endsWithItsRow(place: FormulaPlace, from: ReferenceCorner, to: ReferenceCorner): boolean {
  const [upper, lower] = (from.row?.number ?? 0) <= (to.row?.number ?? 0) ? [from.row, to.row] : [to.row, from.row];
  if (upper === undefined || lower === undefined || lower.absolute) return false;
  if (place.filled) return true;
  const wide = from.column?.letters !== to.column?.letters;
  return wide && !upper.absolute && upper.number === place.row && lower.number === place.row;
}

const withRow = (corner: ReferenceCorner, row: number): ReferenceCorner =>
  corner.row === undefined ? corner : { ...corner, row: { ...corner.row, number: row } };

/**
 * Returns the formula for the cells beside and below, as filling it down in Excel would: relative references move
 * along, and become `#REF!` off the sheet. Parses the formula once for all cells.
 */
export function createFillDown(formula: string): (rows: number, columns: number) => string {
  const pieces = parseFormula(formula);
  return (rows, columns) =>
    pieces.map((piece) => (typeof piece === 'string' ? piece : shift(piece, rows, columns))).join('');
}

function shift(reference: FormulaReference, rows: number, columns: number): string {
  const from = shiftCorner(reference.from, rows, columns);
  const to = reference.to && shiftCorner(reference.to, rows, columns);
  if (from === null || to === null) return `${reference.prefix}#REF!`;
  return formatReference(reference, from, to);
}

function shiftCorner({ column, row }: ReferenceCorner, rows: number, columns: number): ReferenceCorner | null {
  const newRow = row && (row.absolute ? row.number : row.number + rows);
  const newColumn = column && columnNumber(column.letters) + (column.absolute ? 0 : columns);
  if (newRow !== undefined && (newRow < 1 || newRow > MAX_ROW)) return null;
  if (newColumn !== undefined && (newColumn < 1 || newColumn > MAX_COLUMN)) return null;
  const letters = column && (column.absolute || columns === 0 ? column.letters : columnLetters(newColumn ?? 1));
  return {
    ...(column === undefined || letters === undefined ? {} : { column: { ...column, letters } }),
    ...(row === undefined || newRow === undefined ? {} : { row: { ...row, number: newRow } }),
  };
}
