import { type CellAddress, type CellRange, isSingle, MAX_ROW } from '../workbook/addresses.ts';
import { type BandTable, type GrowthPlan, insertedRows, type ReferenceMap, type RowBand } from './growth.ts';

/** Finds sheets by name without regard to case, like Excel. Rows pushed below Excel's last row become that row. */
export function createReferenceMap(plan: GrowthPlan): ReferenceMap {
  const sheets = new Map([...plan].map(([sheet, bands]) => [sheet.toLowerCase(), bands]));
  const bandsOf = (sheet: string): readonly RowBand[] => sheets.get(sheet.toLowerCase()) ?? [];
  return {
    changes: [...plan.values()].some((bands) => bands.some((band) => band.rows !== size(band))),
    row: (sheet, row) => moveRow(bandsOf(sheet), row),
    cell: (sheet, cell) => {
      const bands = bandsOf(sheet);
      return { row: moveRow(bands, shrinkCell(bands, cell)), column: cell.column };
    },
    range: (sheet, range, single) => {
      const bands = bandsOf(sheet);
      const body = single === 'body' || !isSingle(range);
      const { from, to } = shrinkRange(bands, range, body);
      const grown =
        body && bands.find((band) => band.last === to && insertedRows(band) > 0 && !isBeside(range, band.tables));
      return {
        from: { row: moveRow(bands, from), column: range.from.column },
        to: {
          row: grown ? Math.min(MAX_ROW, moveRow(bands, to) + insertedRows(grown)) : moveRow(bands, to),
          column: range.to.column,
        },
      };
    },
  };
}

/** Number of data rows in the template. */
const size = ({ first, last }: RowBand): number => last - first + 1;

/** The last row of data of a band that shrinks, in rows of the template. */
const newLast = ({ first, rows }: RowBand): number => first + rows - 1;

const shrinks = (band: RowBand): boolean => band.rows < size(band);

function moveRow(bands: readonly RowBand[], row: number): number {
  let moved = row;
  for (const band of bands) if (band.last < row) moved += insertedRows(band);
  return Math.min(MAX_ROW, moved);
}

/** The row of a template cell after a totals row has moved up. */
function shrinkCell(bands: readonly RowBand[], { row, column }: CellAddress): number {
  const band = bands.find(
    (one) => shrinks(one) && row === one.last + 1 && inTables(one.tables.filter(hasTotals), column),
  );
  return band === undefined ? row : newLast(band) + 1;
}

/** The rows of a template range after tables have shrunk: ranges over the columns of these tables end earlier. */
function shrinkRange(bands: readonly RowBand[], { from, to }: CellRange, body: boolean): { from: number; to: number } {
  for (const band of bands) {
    if (!shrinks(band)) continue;
    const covers = (tables: readonly BandTable[]): boolean =>
      inTables(tables, from.column) && inTables(tables, to.column);
    if (to.row === band.last && body && covers(band.tables)) {
      return { from: Math.min(from.row, newLast(band)), to: newLast(band) };
    }
    if (to.row === band.last + 1 && covers(band.tables.filter(hasTotals))) {
      return { from: Math.min(from.row, newLast(band) + 1), to: newLast(band) + 1 };
    }
  }
  return { from: from.row, to: to.row };
}

const hasTotals = ({ totalsRow }: BandTable): boolean => totalsRow;

/** Whether it is a range of one row that shares no column with the tables, so it does not cover their rows. */
const isBeside = ({ from, to }: CellRange, tables: readonly BandTable[]): boolean =>
  from.row === to.row && !tables.some(({ fromColumn, toColumn }) => fromColumn <= to.column && from.column <= toColumn);

const inTables = (tables: readonly BandTable[], column: number): boolean =>
  tables.some(({ fromColumn, toColumn }) => fromColumn <= column && column <= toColumn);
