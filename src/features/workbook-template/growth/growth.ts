import type { CellAddress, CellRange } from '../workbook/addresses.ts';

/**
 * The rows of the tables that start and end together on a sheet, and how many rows of data they get. Whole rows are inserted
 * behind `last`; what is below moves. With fewer rows than the template has, the rest is cleared: the tables and the
 * ranges over them end earlier, a totals row moves up below the last row, and nothing else moves.
 */
export interface RowBand {
  /** The template's first and last row of data, from 1. */
  readonly first: number;
  readonly last: number;
  /** Rows of data to write, at least 1: the largest need of its tables. */
  readonly rows: number;
  /** From left to right. */
  readonly tables: readonly BandTable[];
}

export interface BandTable {
  /** The name of the table. */
  readonly name: string;
  readonly fromColumn: number;
  readonly toColumn: number;
  readonly totalsRow: boolean;
}

/** By the name of the sheet, from top to bottom. Sheets without bound tables are absent. */
export type GrowthPlan = ReadonlyMap<string, readonly RowBand[]>;

/** Rows that are inserted behind the last row of data; 0 for a band that shrinks. */
export const insertedRows = ({ first, last, rows }: RowBand): number => Math.max(0, rows - (last - first + 1));

/** Where cells and ranges of the template are in the filled workbook. */
export interface ReferenceMap {
  /** Anything moves, or a range changes its end. */
  readonly changes: boolean;
  /** A row of a sheet as a whole, for anchors and breaks. */
  row(sheet: string, row: number): number;
  cell(sheet: string, cell: CellAddress): CellAddress;
  /**
   * A range that ends with the last row of data ends with it afterwards; others keep their ends, or move. So do ranges of
   * one row beside the tables.
   * @param single what a range of one cell is: the cell, as in formulas (`cell`), or a table of one row, as in charts (`body`)
   */
  range(sheet: string, range: CellRange, single: 'cell' | 'body'): CellRange;
}
