import { expect, test } from 'vitest';
import type { CellValue } from '../../../../src/features/workbook-template/binding/bindings.ts';
import { createBoundCells } from '../../../../src/features/workbook-template/fill/bound-values.ts';
import { MAX_CACHED_POINTS } from '../../../../src/features/workbook-template/growth/parts/cached/chart-points.ts';
import { createReferenceMap } from '../../../../src/features/workbook-template/growth/reference-map.ts';
import { parseRange } from '../../../../src/features/workbook-template/workbook/addresses.ts';

const range = (text: string) => {
  const parsed = parseRange(text);
  if (parsed === undefined) throw new Error(`${text} is no range`);
  return parsed;
};

/** A table in B2:D3, whose middle column belongs to the template, with a name in B5 below. */
function cellsOf(rows: readonly (readonly CellValue[])[]) {
  const name = 'board';
  const table = { part: '', sheet: 'Board', name, range: range('B2:D3'), headerRows: 1, totalsRows: 0, columns: [] };
  const band = {
    first: 3,
    last: 3,
    rows: Math.max(1, rows.length),
    tables: [{ name, fromColumn: 2, toColumn: 4, totalsRow: false }],
  };
  let read = 0;
  const counted = {
    *[Symbol.iterator]() {
      for (const row of rows) {
        read += 1;
        yield row;
      }
    },
  };
  const fill = {
    sheet: { name: 'Board', part: '', kind: 'worksheet' as const },
    bands: [{ band, tables: [{ table, bound: [true, false, true], length: rows.length, rows: counted }] }],
    names: new Map([[5, new Map<number, CellValue>([[2, 'June']])]]),
  };
  const cells = createBoundCells([fill], createReferenceMap(new Map([['Board', [band]]])));
  return { cells, readRows: () => read };
}

test('charts get the values of the filled sheet if every cell is bound', () => {
  const { cells, readRows } = cellsOf([
    [1, null, 'a'],
    [2, null, null],
  ]);
  expect(readRows()).toBe(0);
  expect(cells.values('BOARD', range('B3:B4'))).toEqual([1, 2]);
  expect(cells.values('Board', range('D3:D4'))).toEqual(['a', null]);
  expect(cells.values('Board', range('B6'))).toEqual(['June']);
  expect(cells.values('Board', range('C3:C4'))).toBeUndefined();
  expect(cells.values('Board', range('B2:B4'))).toBeUndefined();
  expect(cells.values('Other', range('B3:B4'))).toBeUndefined();
  expect(readRows()).toBe(2);
  expect(['B2', 'C3:C4', 'B4:Z4', 'B6', 'B5'].map((text) => cells.touches('board', range(text)))).toEqual([
    false,
    false,
    true,
    true,
    false,
  ]);
});

test('a chart reads no more rows than its cache can hold, and gets one empty row of an empty table', () => {
  const rows = Array.from({ length: MAX_CACHED_POINTS + 5 }, (_, index) => [index, null, index]);
  const { cells, readRows } = cellsOf(rows);
  expect(cells.values('Board', range(`B3:B${rows.length + 2}`))).toBeUndefined();
  expect(cells.values('Board', range('B3:B4'))).toEqual([0, 1]);
  expect(cells.values('Board', range(`B${rows.length + 2}`))).toBeUndefined();
  expect(readRows()).toBe(MAX_CACHED_POINTS);
  expect(cellsOf([]).cells.values('Board', range('B3:B3'))).toEqual([null]);
});
