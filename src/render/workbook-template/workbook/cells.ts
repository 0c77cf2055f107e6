/** A cell by its row and column, both from 1. */
export interface CellAddress {
  readonly row: number;
  readonly column: number;
}

/** A rectangle of cells; both corners belong to it. */
export interface CellRange {
  readonly from: CellAddress;
  readonly to: CellAddress;
}

/** Excel's limits. */
export const MAX_ROW = 1_048_576;
export const MAX_COLUMN = 16_384;
