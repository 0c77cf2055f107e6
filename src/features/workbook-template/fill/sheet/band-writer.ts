import type { ReferenceMap } from '../../growth/growth.ts';
import { columnLetters } from '../../workbook/addresses.ts';
import type { StyleReader } from './cell-styles.ts';
import { type CellFormat, cellXml } from './cell-xml.ts';
import type { CellWriter } from './formula-cells.ts';
import { formulaXml, writeInsertedRows } from './inserted-rows.ts';
import type { SheetScan } from './scan-sheet.ts';
import { type BandFill, type NameValues, type NewCells, shrinks } from './sheet-fill.ts';
import { isEmpty, type SheetRow } from './sheet-rows.ts';
import { createTableCursor } from './table-cursor.ts';

/** Writes the rows of a band. Rows must be requested in order. */
export type BandWriter = ReturnType<typeof createBandWriter>;

export interface BandContext {
  /** The name of the sheet. */
  readonly sheet: string;
  readonly scan: SheetScan;
  readonly map: ReferenceMap;
  readonly names: NameValues;
  readonly format: CellFormat;
  readonly styles: StyleReader;
  readonly writeCell: CellWriter;
}

export function createBandWriter({ band, tables }: BandFill, context: BandContext) {
  const { sheet, scan, map, names, format, styles, writeCell } = context;
  const cursors = tables.map((fill) => createTableCursor(fill, band.first, sheet, map));
  const shrinking = shrinks(band);
  /** Styles of the cells that a moved totals row replaces. */
  const displaced = new Map<number, string>();

  const putDataRow = (index: number, newRow: number, row: SheetRow | undefined, cells: NewCells): void => {
    for (const cursor of cursors) {
      const { fill, from } = cursor;
      const values = cursor.next();
      for (const [offset, bound] of fill.bound.entries()) {
        const column = from + offset;
        const cell = row?.cells.find((each) => each.column === column);
        const address = `${columnLetters(column)}${newRow}`;
        const style = styles.of(column, row);
        if (bound || !cursor.has(index)) {
          if (cell === undefined && !cursor.has(index)) continue;
          const value = bound ? (values?.[offset] ?? null) : null;
          if (cell !== undefined || value !== null || style !== '')
            cells.set(column, cellXml(address, style, value, format));
        } else if (cell === undefined || isEmpty(cell)) {
          const formula = cursor.calculated(offset);
          if (formula !== undefined) cells.set(column, formulaXml(address, style, formula(index, 0), format));
        } else if (cell.formula === undefined && (fill.clearsSamples === true || fill.length === 0)) {
          cells.set(column, cellXml(address, style, null, format));
        }
      }
    }
  };

  /** Moves the totals row of a table to the row after its data. */
  const putTotals = (newRow: number, row: SheetRow | undefined, cells: NewCells): void => {
    const number = band.last + 1;
    const totals = scan.totals.get(number);
    for (const { fromColumn, toColumn, totalsRow } of band.tables) {
      if (!totalsRow) continue;
      for (let column = fromColumn; column <= toColumn; column += 1) {
        displaced.set(column, styles.of(column, row));
        const cell = totals?.cells.find((each) => each.column === column);
        const value = names.get(number)?.get(column);
        const address = `${columnLetters(column)}${newRow}`;
        if (value !== undefined) cells.set(column, cellXml(address, styles.of(column, totals), value, format));
        else if (cell !== undefined) cells.set(column, writeCell(cell, { row: number, newRow, filled: false }));
        else if (row?.cells.some((each) => each.column === column))
          cells.set(column, cellXml(address, '', null, format));
      }
    }
  };

  const clearTotals = (newRow: number, row: SheetRow | undefined, cells: NewCells): void => {
    for (const { column } of row?.cells ?? []) {
      const style = displaced.get(column);
      if (style !== undefined) cells.set(column, cellXml(`${columnLetters(column)}${newRow}`, style, null, format));
    }
  };

  return {
    band,
    /** Whether it is a row of data, or the totals row of a table that shrinks. */
    covers: (number: number): boolean => band.first <= number && number <= band.last + (shrinking ? 1 : 0),
    /** Adds the cells of a template row that change. */
    putCells: (number: number, newRow: number, row: SheetRow | undefined, cells: NewCells): void => {
      if (number > band.last) clearTotals(newRow, row, cells);
      else {
        putDataRow(number - band.first, newRow, row, cells);
        if (shrinking && number === band.first + band.rows) putTotals(newRow, row, cells);
      }
    },
    /** The rows below the last row of data. They take their styles and formulas from it. */
    insertedRows: (newLast: number, last: SheetRow | undefined): Iterable<string> =>
      writeInsertedRows(band, newLast, last, cursors, context),
    /** Can be called repeatedly. */
    close: (): void => {
      for (const cursor of cursors) cursor.close();
    },
  };
}
