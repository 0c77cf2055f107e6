import type { Row, Table } from '../../src/fetch/dataset.ts';
import { iterateRows } from '../../src/fetch/rows.ts';

/** All rows of a table at once, wherever they are kept. */
export const rowsOf = (table: Pick<Table, 'rows'> | undefined): readonly Row[] =>
  table === undefined ? [] : [...iterateRows(table.rows)];

/** The same table without the numbers of cases behind its figures: whether a call has room for them depends on its others. */
export const withoutCases = <Given>(table: Given): Given =>
  JSON.parse(JSON.stringify(table, (key, value) => (/^(?:cases|toDateCases)$/.test(key) ? undefined : value)));
