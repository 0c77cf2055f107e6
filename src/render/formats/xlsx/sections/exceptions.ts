import type { Table } from '../../../../fetch/dataset.ts';
import type { SectionOf } from '../../../pack/pack.ts';

/** An exceptions section as a table: the rows that are shown first, then the others. */
export interface OrderedTable {
  readonly table: Table;
  /** Rows that are printed. */
  readonly shown: number;
}

/** Puts the rows that are shown first. Those of a list stay in their file: they have no statuses, so the first are shown. */
export function orderedExceptions({ table, rows }: SectionOf<'exceptions'>): OrderedTable {
  // The totals are of all rows, of which a page shows a part.
  const { totals: _, chart: __, ...plain } = table;
  if ('path' in table.rows) return { table: plain, shown: rows.length };
  const shown = new Set(rows.map(({ row }) => row));
  const others = table.rows.filter((row) => !shown.has(row));
  return { table: { ...plain, rows: [...shown, ...others] }, shown: rows.length };
}
