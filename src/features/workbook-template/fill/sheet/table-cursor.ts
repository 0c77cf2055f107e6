import type { CellValue } from '../../binding/bindings.ts';
import type { ReferenceMap } from '../../growth/growth.ts';
import { createFillDown, mapFormula } from '../../growth/map-formula.ts';
import type { TableFill } from './sheet-fill.ts';

/** The formulas of a column when filled down, by rows and columns from the first cell. */
export type FilledFormula = (rows: number, columns: number) => string;

/** Reads the rows for a table one by one. */
export type TableCursor = ReturnType<typeof createTableCursor>;

/** @param first the first row of data */
export function createTableCursor(fill: TableFill, first: number, sheet: string, map: ReferenceMap) {
  const place = { row: first, filled: true };
  const formulas = fill.table.columns.map(({ formula }, offset) =>
    formula === undefined || fill.bound[offset] === true
      ? undefined
      : createFillDown(mapFormula(formula, sheet, map, place)),
  );
  let rows: Iterator<readonly CellValue[]> | undefined;
  let ended = fill.length === 0;
  return {
    fill,
    /** The table's first column. */
    from: fill.table.range.from.column,
    /** The values of the next row; null after the last one. */
    next: (): readonly CellValue[] | null => {
      if (ended) return null;
      rows ??= fill.rows[Symbol.iterator]();
      const { done, value } = rows.next();
      if (done !== true) return value;
      ended = true;
      return null;
    },
    /** Whether the table has this row, counted from 0. A table without data still has one empty row. */
    has: (index: number): boolean => index < Math.max(1, fill.length),
    /** The formula of the author's own calculated column, for the first row of data. */
    calculated: (offset: number): FilledFormula | undefined => formulas[offset],
    /** Closes the rows. Can be called repeatedly. */
    close: (): void => {
      if (!ended) rows?.return?.();
      ended = true;
    },
  };
}
