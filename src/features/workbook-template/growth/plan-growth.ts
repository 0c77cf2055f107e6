import { DocketError } from '../../../base/error.ts';
import { type CellRange, formatRange, MAX_ROW } from '../workbook/addresses.ts';
import { bodyRows, type TemplateTable } from '../workbook/workbook.ts';
import { type GrowthPlan, insertedRows, type RowBand } from './growth.ts';

/** A bound table and the number of data rows it gets. */
export interface TableNeed {
  readonly table: TemplateTable;
  /** May be 0: an empty section leaves one empty row. */
  readonly rows: number;
}

/**
 * Plans where the rows of bound tables go.
 * @throws DocketError `template.invalid` if tables conflict; `render.failed` if a sheet would exceed Excel's last row
 */
export function planGrowth(needs: readonly TableNeed[]): GrowthPlan {
  const [conflict] = findConflicts(needs.map(({ table }) => table));
  if (conflict !== undefined) throw conflictError(conflict);
  const plan = new Map<string, RowBand[]>();
  for (const { table, rows } of [...needs].sort((one, other) => byPosition(one.table, other.table))) {
    const bands = plan.get(table.sheet) ?? [];
    plan.set(table.sheet, bands);
    const last = bands.at(-1);
    const { first, last: lastRow } = bodyRows(table);
    if (last?.first === first) {
      bands[bands.length - 1] = {
        ...last,
        rows: Math.max(last.rows, rows),
        tables: [...last.tables, bandTable(table)],
      };
    } else bands.push({ first, last: lastRow, rows: Math.max(1, rows), tables: [bandTable(table)] });
  }
  for (const [sheet, bands] of plan) assertRows(sheet, bands);
  return plan;
}

/** Two bound tables of a sheet that cannot both grow. */
export interface TableConflict {
  readonly table: TemplateTable;
  readonly other: TemplateTable;
  /** True: they share some rows of data, but not all. False: rows inserted for `other` would split `table`. */
  readonly shareData: boolean;
}

export function findConflicts(tables: readonly TemplateTable[]): readonly TableConflict[] {
  const conflicts: TableConflict[] = [];
  const sorted = [...tables].sort(byPosition);
  for (const [index, table] of sorted.entries()) {
    const rows = bodyRows(table);
    for (const [place, other] of sorted.entries()) {
      if (place === index || table.sheet !== other.sheet) continue;
      const others = bodyRows(other);
      if (rows.first === others.first && rows.last === others.last) continue;
      const shareData = rows.first <= others.last && others.first <= rows.last;
      // If two tables share rows of data, the lower one is reported.
      if (shareData ? place < index : isSplitBy(table.range, others.last)) conflicts.push({ table, other, shareData });
    }
  }
  return conflicts;
}

/** Whether rows inserted below this row would split the range. */
export const isSplitBy = ({ from, to }: CellRange, last: number): boolean => from.row <= last && last < to.row;

const byPosition = (one: TemplateTable, other: TemplateTable): number =>
  bodyRows(one).first - bodyRows(other).first || one.range.from.column - other.range.from.column;

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

const conflictError = ({ table, other, shareData }: TableConflict): DocketError =>
  new DocketError('template.invalid', `The tables "${other.name}" and "${table.name}" cannot grow on one sheet.`, {
    expected: shareData ? 'tables whose first and last rows of data are the same' : 'tables without common rows',
    got: `${formatRange(other.range)} and ${formatRange(table.range)}`,
    where: `${table.sheet}!${formatRange(table.range)}`,
    next: 'Align the two tables, or move one of them below the other or to a sheet of its own.',
  });
