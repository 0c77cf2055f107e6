import { DocketError } from '../../../base/error.ts';
import { MAX_ROW } from '../workbook/cells.ts';
import { bodyRows, type TemplateTable } from '../workbook/workbook.ts';
import { type GrowthPlan, insertedRows, type RowBand } from './growth.ts';

/** A bound table and the rows of data that it gets. */
export interface TableNeed {
  readonly table: TemplateTable;
  /** From 0; an empty section leaves one empty row. */
  readonly rows: number;
}

/**
 * Where the rows of bound tables go.
 * @throws DocketError `template.invalid` if tables share rows without starting and ending together, or if rows would be
 * inserted inside another bound table; `render.failed` if a sheet would have more rows than Excel allows.
 */
export function planGrowth(tables: readonly TableNeed[]): GrowthPlan {
  const bands = new Map<string, RowBand[]>();
  for (const need of [...tables].sort(byPosition)) {
    const onSheet = bands.get(need.table.sheet) ?? [];
    bands.set(need.table.sheet, onSheet);
    const { first, last } = bodyRows(need.table);
    const shared = onSheet.findIndex((band) => band.first <= last && first <= band.last);
    const band = onSheet[shared];
    if (band === undefined) {
      onSheet.push({ first, last, rows: Math.max(1, need.rows), tables: [bandTable(need.table)] });
    } else if (band.first === first && band.last === last) {
      onSheet[shared] = {
        ...band,
        rows: Math.max(band.rows, need.rows),
        tables: [...band.tables, bandTable(need.table)],
      };
    } else {
      throw conflict(need.table, band.tables[0]?.name ?? '', 'that start and end on the same rows');
    }
  }
  for (const { table } of tables) {
    const { first } = bodyRows(table);
    const split = bands
      .get(table.sheet)
      ?.find((band) => band.first !== first && isSplitBy(table.range.from.row, table.range.to.row, band.last));
    if (split !== undefined)
      throw conflict(table, split.tables[0]?.name ?? '', 'one below the other, without common rows');
  }
  for (const [sheet, onSheet] of bands) assertRows(sheet, onSheet);
  return bands;
}

/** Rows that are inserted behind `last` would tear these rows apart. */
export const isSplitBy = (from: number, to: number, last: number): boolean => from <= last && last < to;

const byPosition = (one: TableNeed, other: TableNeed): number =>
  one.table.range.from.row + one.table.headerRows - (other.table.range.from.row + other.table.headerRows) ||
  one.table.range.from.column - other.table.range.from.column;

const bandTable = ({ name, range, totalsRows }: TemplateTable): RowBand['tables'][number] => ({
  name,
  fromColumn: range.from.column,
  toColumn: range.to.column,
  totalsRow: totalsRows > 0,
});

function assertRows(sheet: string, bands: readonly RowBand[]): void {
  const inserted = bands.reduce((sum, band) => sum + insertedRows(band), 0);
  const below = bands.reduce((lowest, band) => Math.max(lowest, band.last + (band.tables.some(hasTotals) ? 1 : 0)), 0);
  if (below + inserted <= MAX_ROW) return;
  throw new DocketError('render.failed', `The sheet "${sheet}" of the template would have too many rows for Excel.`, {
    expected: `at most ${MAX_ROW.toLocaleString('en')} rows`,
    got: `${(below + inserted).toLocaleString('en')} rows`,
    next: 'Write this section as CSV instead, or narrow it.',
  });
}

const hasTotals = ({ totalsRow }: RowBand['tables'][number]): boolean => totalsRow;

const conflict = (table: TemplateTable, other: string, rule: string): DocketError =>
  new DocketError(
    'template.invalid',
    `Rows for the table "${other}" would be inserted inside the table "${table.name}".`,
    {
      expected: `tables ${rule}`,
      got: `"${table.name}" and "${other}" share rows of the sheet "${table.sheet}"`,
      next: 'Align the two tables, or move one of them below the other or to a sheet of its own.',
    },
  );
