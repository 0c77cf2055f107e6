import type { Dataset, Table } from '../../../../../fetch/dataset.ts';
import { firstRows, iterateRows } from '../../../../../fetch/rows.ts';
import type { Words } from '../../../../../i18n/messages.ts';
import { colouredBetters } from '../../../../figures/better.ts';
import { isFigureColumn, isTransposed, type ViewColumn } from '../../../../figures/columns.ts';
import type { PackCell, SectionCells, TrendPanel } from '../../../../pack/pack.ts';
import type { Cell } from '../../package/sheet-rows.ts';
import { createToneStyles } from '../../style/data-styles.ts';
import { withFewCells } from './few-cells.ts';
import type { Grid } from './grid.ts';
import type { Headings } from './headings.ts';
import { withPanelDecimals } from './judged-cells.ts';
import { withStatuses } from './status-columns.ts';
import { tableGrid } from './table-grid.ts';
import { transposedGrid } from './transposed-grid.ts';

/**
 * The grid of a section's figures, with their statuses.
 * @param columns the table's
 * @param panels small charts of these figures, which must agree with them
 * @param locale BCP 47, for headings and bounds; Excel formats numbers and dates by its own locale
 */
export function sectionGrid(
  dataset: Pick<Dataset, 'targets' | 'judgements' | 'small' | 'bases'>,
  table: Table,
  columns: readonly ViewColumn[],
  headings: Headings,
  words: Words,
  locale: string,
  cells: SectionCells,
  panels: readonly TrendPanel[] = [],
): Grid {
  const grid = isTransposed(table, columns)
    ? transposedGrid(table, columns, locale)
    : tableGrid(table, columns, headings, locale);
  const few = withFewCells(grid, dataset, table, columns, locale);
  const toned = withTones(few, dataset, table, columns, cells);
  const shown = isTransposed(table, columns) ? toned : withPanelDecimals(toned, table, columns, panels);
  return withStatuses(shown, dataset, table, columns, words, locale);
}

/**
 * Colours better and worse changes as in all other outputs. The colour belongs to the cell, which keeps it when
 * somebody sorts the rows. Changes of metrics without a better direction are marked by conditional formats.
 */
function withTones(
  grid: Grid,
  dataset: Pick<Dataset, 'targets'>,
  table: Table,
  columns: readonly ViewColumn[],
  cells: SectionCells,
): Grid {
  const isToned = ({ role, source }: ViewColumn): boolean =>
    role === 'change' && colouredBetters(dataset, table, source.name).size > 0;
  const toned = new Set(columns.filter(isToned));
  if (toned.size === 0) return grid;
  const withTone = createToneStyles();
  const inTone = (cell: Cell, of: PackCell | undefined): Cell => ({
    ...cell,
    style: withTone(cell.style, of?.tone ?? ''),
  });
  if (isTransposed(table, columns)) {
    const [row] = firstRows(table.rows, 1);
    const figures = columns.filter(isFigureColumn);
    const byMetric = figures
      .filter(({ role }) => role === 'value')
      .map(({ source }) => figures.filter((each) => each.source === source));
    return {
      ...grid,
      // Each row is another metric.
      rowChanges: byMetric.map((own) => (own.some((view) => toned.has(view)) ? undefined : 'change')),
      rows: [...grid.rows].map((made, index) => {
        const own = byMetric[index] ?? [];
        return made.map((cell, at) => {
          const view = own[(at - 1) % own.length];
          if (at === 0 || view === undefined || !toned.has(view)) return cell;
          // The figures of the row come first, then those of the totals.
          return inTone(cell, at > own.length ? cells.ofTotals(view) : row && cells.ofRow(view, row));
        });
      }),
    };
  }
  const inTones = (made: readonly Cell[], cellOf: (view: ViewColumn) => PackCell | undefined): Cell[] =>
    made.map((cell, index) => {
      const view = columns[index];
      return view === undefined || !toned.has(view) ? cell : inTone(cell, cellOf(view));
    });
  const rows = function* (): Iterable<readonly Cell[]> {
    const read = iterateRows(table.rows)[Symbol.iterator]();
    try {
      for (const made of grid.rows) {
        const { value: row, done } = read.next();
        yield done ? made : inTones(made, (view) => cells.ofRow(view, row));
      }
    } finally {
      read.return?.();
    }
  };
  return {
    ...grid,
    rows: { [Symbol.iterator]: () => rows()[Symbol.iterator]() },
    ...(grid.totals === undefined ? {} : { totals: inTones(grid.totals, cells.ofTotals) }),
    conditionalFormats: grid.conditionalFormats.map((kind, index) => {
      const view = columns[index];
      return view !== undefined && toned.has(view) ? undefined : kind;
    }),
  };
}
