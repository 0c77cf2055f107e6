import { columnNumber } from '../workbook/addresses.ts';
import { parseFormula } from './formula-references.ts';
import { insertedRows, type ReferenceMap, type RowBand } from './growth.ts';
import { createFillDown, mapFormula } from './map-formula.ts';

export interface Sparkline {
  /** The range that it draws, e.g. `Board!B5:F5`. */
  readonly data: string;
  /** The cell where it stands. */
  readonly cell: string;
}

/** A sparkline in the filled workbook. In the last row of a table's data it continues, one for each row inserted below. */
export function* mapSparkline(
  { data, cell }: Sparkline,
  sheet: string,
  bands: readonly RowBand[],
  map: ReferenceMap,
): Iterable<Sparkline> {
  const place = placeOf(cell, bands);
  const mapped = {
    // Beside its data it draws its own row; above or below it draws a column.
    data: mapFormula(data, sheet, map, { row: place.row, filled: false }, 'body'),
    cell: mapFormula(cell, sheet, map),
  };
  yield mapped;
  const band = place.filled ? bands.find(({ last }) => last === place.row) : undefined;
  if (band === undefined) return;
  const dataBelow = createFillDown(mapped.data);
  const cellBelow = createFillDown(mapped.cell);
  for (let rows = 1; rows <= insertedRows(band); rows += 1) {
    yield { data: dataBelow(rows, 0), cell: cellBelow(rows, 0) };
  }
}

/**
 * Where formulas stand that are relative to the first cell of these ranges.
 * @param ranges `sqref`: ranges, separated by spaces.
 */
export function placeOf(ranges: string, bands: readonly RowBand[]): { readonly row: number; readonly filled: boolean } {
  const [reference] = parseFormula(ranges.trim().split(/\s/, 1)[0] ?? '');
  if (reference === undefined || typeof reference === 'string') return { row: 1, filled: false };
  const row = reference.from.row?.number ?? 1;
  const column = columnNumber(reference.from.column?.letters ?? 'A');
  const filled = bands.some(
    ({ first, last, tables }) =>
      first <= row &&
      row <= last &&
      tables.some(({ fromColumn, toColumn }) => fromColumn <= column && column <= toColumn),
  );
  return { row, filled };
}
