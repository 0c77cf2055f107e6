import type { Row, Table } from '../../src/fetch/dataset.ts';
import { iterateRows } from '../../src/fetch/rows.ts';

/** All rows of a table, wherever they are stored. */
export const rowsOf = (table: Pick<Table, 'rows'> | undefined): readonly Row[] =>
  table === undefined ? [] : [...iterateRows(table.rows)];

/** A table without the numbers of cases: whether a call includes them depends on its other metrics. */
export const withoutCases = <Given>(table: Given): Given =>
  JSON.parse(JSON.stringify(table, (key, value) => (/^(?:cases|toDateCases)$/.test(key) ? undefined : value)));
