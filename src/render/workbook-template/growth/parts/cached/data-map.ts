import type { CellRange } from '../../../workbook/cells.ts';
import { type GrowthPlan, insertedRows, type ReferenceMap } from '../../growth.ts';

/**
 * A map for what reads values: a range beside the tables that ends with their last row does not grow, because no data comes
 * there. A chart over it would show empty points.
 */
export const createDataMap = (map: ReferenceMap, plan: GrowthPlan): ReferenceMap => ({
  ...map,
  range: (sheet, range, single) =>
    isBeside(plan, sheet, range)
      ? {
          from: { row: map.row(sheet, range.from.row), column: range.from.column },
          to: { row: map.row(sheet, range.to.row), column: range.to.column },
        }
      : map.range(sheet, range, single),
});

function isBeside(plan: GrowthPlan, sheet: string, { from, to }: CellRange): boolean {
  const bands = [...plan].find(([name]) => name.toLowerCase() === sheet.toLowerCase())?.[1] ?? [];
  const band = bands.find(({ last }) => last === to.row);
  if (band === undefined || insertedRows(band) === 0) return false;
  return band.tables.every(({ fromColumn, toColumn }) => to.column < fromColumn || toColumn < from.column);
}
