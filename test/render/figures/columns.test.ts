import { expect, it } from 'vitest';
import type { Row, Table } from '../../../src/fetch/dataset.ts';
import { viewColumns } from '../../../src/render/figures/columns.ts';
import { legendNotes } from '../../../src/render/table-notes.ts';
import {
  bucketColumn,
  countColumn,
  durationColumn,
  previous,
  row,
  strangeColumn,
  table,
  WEEK_BEFORE,
} from '../../support/dataset.ts';

/** Rows that count how often they are read. */
function counted(rows: readonly Row[]) {
  let readings = 0;
  const spied = Object.assign([...rows], {
    *[Symbol.iterator]() {
      readings += 1;
      yield* rows;
    },
  });
  return { rows: spied, readings: () => readings };
}

const { name: count } = countColumn;
const { name: duration } = durationColumn;
const { name: strange } = strangeColumn;

it('scans the rows once for all columns', () => {
  const { rows, readings } = counted([
    row({ bucket: '2026-11-09', [count]: 0, [duration]: 5, [strange]: 1.25 }),
    row({ bucket: '2026-11-10', [count]: 0, [duration]: null, [strange]: -2 }),
    row({ bucket: '2026-11-11', [count]: 0, [duration]: 4000, [strange]: 3 }),
  ]);
  const columns = viewColumns(
    table({ id: 'a', granularity: 'day', columns: [bucketColumn, countColumn, durationColumn, strangeColumn], rows }),
  );
  expect(readings()).toBe(1);
  expect(columns.map(({ quantity }) => quantity)).toEqual([
    { kind: 'bucket', granularity: 'day' },
    { kind: 'count' },
    { kind: 'duration', scale: 'minutes' },
    { kind: 'amount', unit: 'chf', decimals: 2 },
  ]);
  expect(columns.map(({ contents }) => contents)).toEqual([
    { undefined: false, positive: false },
    { undefined: false, positive: false },
    { undefined: true, positive: true },
    { undefined: false, positive: true },
  ]);
});

it('the unit of a duration depends on its values, previous period and totals', () => {
  const of = (change: Partial<Table>) =>
    viewColumns(
      table({
        id: 'a',
        columns: [durationColumn],
        rows: [row({ [duration]: 5 }, { compare: previous({ [duration]: 7 }) })],
        comparisons: [WEEK_BEFORE],
        ...change,
      }),
    ).map(({ quantity }) => quantity);
  const minutes = { kind: 'duration', scale: 'minutes' };
  expect(of({})).toEqual([minutes, minutes, { kind: 'relative' }]);
  const hours = { kind: 'duration', scale: 'hours' };
  expect(of({ totals: { values: { [duration]: 9000 } } })[0]).toEqual(hours);
  expect(of({ rows: [row({ [duration]: 5 }, { compare: previous({ [duration]: 9000 }) })] })[0]).toEqual(hours);
});

it('the legend explains a change that is undefined although both figures are known', () => {
  const grown = table({
    id: 'a',
    columns: [countColumn],
    rows: [row({ [count]: 5 }, { compare: previous({ [count]: 0 }) })],
    comparisons: [WEEK_BEFORE],
  });
  expect(viewColumns(grown).map(({ contents }) => contents.undefined)).toEqual([false, false, true]);
  expect(legendNotes(grown).some((note) => note.startsWith('“–” means undefined'))).toBe(true);
});
