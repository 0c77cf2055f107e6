import type { CellValue } from '../binding/bindings.ts';
import type { CellRange } from '../workbook/cells.ts';

/** More values than these are not kept in a chart: Excel reads them from the cells anyway. */
export const MAX_CACHED_POINTS = 10_000;

/** What bound tables and names write, by its place in the filled workbook. */
export interface BoundCells {
  /**
   * The values of a range, row by row. Undefined where one of its cells is not bound, or a formula computes it, or there are
   * more than `MAX_CACHED_POINTS`.
   */
  values(sheet: string, range: CellRange): readonly CellValue[] | undefined;
  /** A cell of the range is bound: what the template's charts and pivot tables remember of it is the sample. */
  touches(sheet: string, range: CellRange): boolean;
}
