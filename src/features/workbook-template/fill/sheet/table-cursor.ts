import type { CellValue } from '../../binding/bindings.ts';
import type { ReferenceMap } from '../../growth/growth.ts';
import { createFillDown, mapFormula } from '../../growth/map-formula.ts';
import type { TableFill } from './sheet-fill.ts';

/** Formulas of a column as they are filled down, by rows and columns from the first. */
export type FilledFormula = (rows: number, columns: number) => string;

/** Reads what a table gets, row by row. */
export interface TableCursor {
  readonly fill: TableFill;
  /** The table's first column. */
  readonly from: number;
  /** The values of the next row; null behind the last. */
  next(): readonly CellValue[] | null;
  /** The table has this row, from 0; without data it has one, which is empty. */
  has(index: number): boolean;
  /** The formula of a calculated column of the template's own, as from the first row of data on. */
  calculated(offset: number): FilledFormula | undefined;
  /** Closes the rows. Idempotent. */
  close(): void;
}

/** @param first The first row of data. */
export function createTableCursor(fill: TableFill, first: number, sheet: string, map: ReferenceMap): TableCursor {
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
    from: fill.table.range.from.column,
    next: () => {
      if (ended) return null;
      rows ??= fill.rows[Symbol.iterator]();
      const { done, value } = rows.next();
      if (done !== true) return value;
      ended = true;
      return null;
    },
    has: (index) => index < Math.max(1, fill.length),
    calculated: (offset) => formulas[offset],
    close: () => {
      if (!ended) rows?.return?.();
      ended = true;
    },
  };
}
