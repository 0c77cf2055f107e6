import type { Row, Table } from '../../src/fetch/dataset.ts';
import { iterateRows } from '../../src/fetch/rows.ts';

/** All rows of a table at once, wherever they are kept. */
export const rowsOf = (table: Pick<Table, 'rows'> | undefined): readonly Row[] =>
  table === undefined ? [] : [...iterateRows(table.rows)];
