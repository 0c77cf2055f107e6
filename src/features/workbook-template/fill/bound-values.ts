import type { CellValue } from '../binding/bindings.ts';
import type { ReferenceMap } from '../growth/growth.ts';
import { type BoundCells, MAX_CACHED_POINTS } from '../growth/parts/cached/chart-points.ts';
import { type CellRange, sameName } from '../workbook/addresses.ts';
import type { SheetFill, TableFill } from './sheet/sheet-fill.ts';

/** A bound table in the filled workbook. */
interface PlacedTable {
  readonly fill: TableFill;
  /** Its first and last row of data. */
  readonly first: number;
  readonly last: number;
  readonly fromColumn: number;
  readonly toColumn: number;
}

interface PlacedSheet {
  readonly name: string;
  readonly tables: readonly PlacedTable[];
  readonly names: readonly { readonly row: number; readonly column: number; readonly value: CellValue }[];
}

/**
 * Reads the values of bound cells. Rows of a table are read when the first of their values is requested; rows after the
 * first `MAX_CACHED_POINTS` are unknown.
 */
export function createBoundCells(fills: readonly SheetFill[], map: ReferenceMap): BoundCells {
  const sheets = fills.map((fill) => placeSheet(fill, map));
  const firstRows = new Map<TableFill, readonly (readonly CellValue[])[]>();
  const loadRows = (fill: TableFill): readonly (readonly CellValue[])[] => {
    const rows = firstRows.get(fill) ?? takeRows(fill);
    firstRows.set(fill, rows);
    return rows;
  };
  const findSheet = (name: string): PlacedSheet | undefined => sheets.find((sheet) => sameName(sheet.name, name));

  /** Undefined if the cell is not bound, or its row was not read. */
  const valueAt = (sheet: PlacedSheet, row: number, column: number): CellValue | undefined => {
    const name = sheet.names.find((each) => each.row === row && each.column === column);
    if (name !== undefined) return name.value;
    const table = sheet.tables.find(
      ({ first, last, fromColumn, toColumn }) =>
        first <= row && row <= last && fromColumn <= column && column <= toColumn,
    );
    if (table === undefined || table.fill.bound[column - table.fromColumn] !== true) return undefined;
    const index = row - table.first;
    if (index >= table.fill.length) return null;
    return loadRows(table.fill)[index]?.[column - table.fromColumn];
  };

  return {
    values: (name, { from, to }) => {
      const sheet = findSheet(name);
      const points = (to.row - from.row + 1) * (to.column - from.column + 1);
      if (sheet === undefined || points > MAX_CACHED_POINTS) return undefined;
      const values: CellValue[] = [];
      for (let row = from.row; row <= to.row; row += 1) {
        for (let column = from.column; column <= to.column; column += 1) {
          const value = valueAt(sheet, row, column);
          if (value === undefined) return undefined;
          values.push(value);
        }
      }
      return values;
    },
    touches: (name, range) => {
      const sheet = findSheet(name);
      if (sheet === undefined) return false;
      const inRange = (row: number, column: number): boolean =>
        range.from.row <= row && row <= range.to.row && range.from.column <= column && column <= range.to.column;
      return (
        sheet.names.some(({ row, column }) => inRange(row, column)) ||
        sheet.tables.some(
          ({ fill, first, last, fromColumn }) =>
            range.from.row <= last &&
            first <= range.to.row &&
            fill.bound.some((bound, offset) => bound && hasColumn(range, fromColumn + offset)),
        )
      );
    },
  };
}

function placeSheet({ sheet: { name }, bands, names }: SheetFill, map: ReferenceMap): PlacedSheet {
  return {
    name,
    tables: bands.flatMap(({ band, tables }) => {
      const first = map.row(name, band.first);
      return tables.map((fill) => ({
        fill,
        first,
        last: first + band.rows - 1,
        fromColumn: fill.table.range.from.column,
        toColumn: fill.table.range.to.column,
      }));
    }),
    names: [...names].flatMap(([row, values]) =>
      [...values].map(([column, value]) => ({ ...map.cell(name, { row, column }), value })),
    ),
  };
}

const hasColumn = ({ from, to }: CellRange, column: number): boolean => from.column <= column && column <= to.column;

function takeRows({ rows }: TableFill): (readonly CellValue[])[] {
  const taken: (readonly CellValue[])[] = [];
  for (const row of rows) {
    taken.push(row);
    if (taken.length >= MAX_CACHED_POINTS) break;
  }
  return taken;
}
