import type { CellAddress, CellRange } from '../workbook/addresses.ts';

/**
 * The tables that start and end in the same rows of a sheet, and the number of data rows they get. With more rows than
 * the template, whole rows are inserted below `last`, and everything below moves. With fewer, the rest is cleared: the
 * tables and the ranges over them end earlier, a totals row moves up below the last row, and nothing else moves.
 */
export interface RowBand {
  /** The template's first and last row of data, counted from 1. */
  readonly first: number;
  readonly last: number;
  /** Number of data rows to write, at least 1: the most that any of its tables needs. */
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

/** The bands of each sheet from top to bottom, by the name of the sheet. Sheets without bound tables are absent. */
export type GrowthPlan = ReadonlyMap<string, readonly RowBand[]>;

/** Number of rows inserted below the last row of data; 0 for a band that shrinks. */
export const insertedRows = ({ first, last, rows }: RowBand): number => Math.max(0, rows - (last - first + 1));

/** Maps cells and ranges of the template to the filled workbook. */
export interface ReferenceMap {
  /** Whether anything moves, or the end of a range changes. */
  readonly changes: boolean;
  /** Maps a whole row of a sheet, for anchors and breaks. */
  row(sheet: string, row: number): number;
  cell(sheet: string, cell: CellAddress): CellAddress;
  /**
   * A range that ends with the last row of data still does afterwards. Other ranges, and ranges of one row beside the
   * tables, only move.
   * @param single how to treat a range of one cell: as a cell, as in formulas (`cell`), or as a table of one row, as in
   * charts (`body`)
   */
  range(sheet: string, range: CellRange, single: 'cell' | 'body'): CellRange;
}
