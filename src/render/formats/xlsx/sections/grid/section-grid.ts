import type { Dataset, Table } from '../../../../../fetch/dataset.ts';
import type { Words } from '../../../../../i18n/messages.ts';
import { isTransposed, type ViewColumn } from '../../../../figures/columns.ts';
import type { SectionCells, TrendPanel } from '../../../../pack/pack.ts';
import { withFewCells } from './few-cells.ts';
import type { Grid } from './grid.ts';
import type { Headings } from './headings.ts';
import { withPanelDecimals } from './judged-cells.ts';
import { withStatuses } from './status-columns.ts';
import { tableGrid } from './table-grid.ts';
import { withTones } from './tone-cells.ts';
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
