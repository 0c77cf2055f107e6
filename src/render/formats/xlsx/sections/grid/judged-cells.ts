import type { Dataset, Judgement, Row, Table, Value } from '../../../../../fetch/dataset.ts';
import { iterateRows } from '../../../../../fetch/rows.ts';
import type { ViewColumn } from '../../../../figures/columns.ts';
import { judgedDecimals } from '../../../../figures/format-value.ts';
import type { Quantity } from '../../../../figures/quantity.ts';
import { findBoundaries } from '../../../../figures/status-text.ts';
import type { TrendPanel } from '../../../../pack/pack.ts';
import type { Cell } from '../../package/sheet-rows.ts';
import { findSuffix, quantityNumberFormat } from '../../style/number-formats.ts';
import type { CellStyle } from '../../style/styles.ts';
import type { Grid } from './grid.ts';

/** Gives a cell at least this many decimals. A cell that shows a bound, or no number, stays unchanged. */
type DecimalCell = (cell: Cell, quantity: Quantity, decimals: number | undefined) => Cell;

function createDecimalCells(): DecimalCell {
  const styles = new Map<CellStyle, Map<string, CellStyle>>();
  return (cell, quantity, decimals) => {
    if (decimals === undefined || typeof cell.value !== 'number') return cell;
    const numFmt = `${quantityNumberFormat(quantity, decimals)}${findSuffix(cell.style.numFmt)}`;
    const known = styles.get(cell.style) ?? new Map<string, CellStyle>();
    styles.set(cell.style, known);
    const style = known.get(numFmt) ?? { ...cell.style, numFmt };
    known.set(numFmt, style);
    return { ...cell, style };
  };
}

/** The decimals of a number format; undefined for a format that shows a bound. */
const countDecimals = (format: string | undefined): number | undefined => {
  const places = /^[#,0]+(?:\.(0+))?/.exec(format ?? '');
  return places === null ? undefined : (places[1]?.length ?? 0);
};

export type JudgedCells = ReturnType<typeof createJudgedCells>;

export function createJudgedCells(targets: Dataset['targets'] = []) {
  const withDecimals = createDecimalCells();
  const judged = (judgement: Judgement | undefined, quantity: Quantity): number | undefined => {
    const boundaries = findBoundaries({ targets }, judgement);
    const figure = judgement?.figure ?? null;
    return boundaries === undefined || figure === null ? undefined : judgedDecimals(figure, boundaries, quantity);
  };
  return {
    /** The cell of a judged figure, with enough decimals to agree with its status, as in texts. */
    figure: (cell: Cell, judgement: Judgement | undefined, quantity: Quantity): Cell =>
      withDecimals(cell, quantity, judged(judgement, quantity)),
    /** The cell of a figure that it is compared with, with the same decimals. */
    earlier: (cell: Cell, judgement: Judgement | undefined, quantity: Quantity): Cell => {
      const [own, decimals] = [countDecimals(cell.style.numFmt), judged(judgement, quantity)];
      return own === undefined || decimals === undefined || own >= decimals
        ? cell
        : withDecimals(cell, quantity, decimals);
    },
  };
}

/** Changes the rows of a grid, together with the table's rows; the row is undefined after the last one. */
export const mappedRows = (
  grid: Grid,
  table: Table,
  map: (cells: readonly Cell[], row: Row | undefined) => readonly Cell[],
): Grid['rows'] => ({
  *[Symbol.iterator]() {
    const rows = iterateRows(table.rows)[Symbol.iterator]();
    try {
      for (const cells of grid.rows) {
        const { value: row, done } = rows.next();
        yield map(cells, done ? undefined : row);
      }
    } finally {
      rows.return?.();
    }
  },
});

/** Gives the figures of small charts the decimals that the charts show beside their targets. */
export function withPanelDecimals(
  grid: Grid,
  table: Table,
  columns: readonly ViewColumn[],
  panels: readonly TrendPanel[],
): Grid {
  const withDecimals = createDecimalCells();
  const targets = new Map(
    panels.map(({ column, points, target }) => [
      column.name,
      new Map<Value, number | null>(points.map(({ bucket }, index) => [bucket, target?.values[index] ?? null])),
    ]),
  );
  return {
    ...grid,
    rows: mappedRows(grid, table, (cells, row) =>
      cells.map((cell, index) => {
        const { role, source, quantity } = columns[index] ?? {};
        if (role !== 'value' || source === undefined || quantity === undefined) return cell;
        const value = row?.values[source.name];
        const target = targets.get(source.name)?.get(row?.values.bucket ?? null) ?? null;
        return typeof value !== 'number' || target === null
          ? cell
          : withDecimals(cell, quantity, judgedDecimals(value, { target }, quantity));
      }),
    ),
  };
}
