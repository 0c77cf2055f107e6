import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  columnLetters,
  columnNumber,
  formatRange,
  MAX_COLUMN,
  MAX_ROW,
  parseCell,
  parseRange,
  parseSheetRange,
  quoteSheetName,
} from '../../../../src/features/workbook-template/workbook/addresses.ts';
import { cases } from '../../../support/fuzz.ts';

const cell = fc.record({
  row: fc.integer({ min: 1, max: MAX_ROW }),
  column: fc.integer({ min: 1, max: MAX_COLUMN }),
});

describe('addresses of cells', () => {
  test('can name every column', () => {
    expect([1, 26, 27, 702, 703, MAX_COLUMN].map(columnLetters)).toEqual(['A', 'Z', 'AA', 'ZZ', 'AAA', 'XFD']);
    fc.assert(
      fc.property(cell, ({ column }) => {
        expect(columnNumber(columnLetters(column))).toBe(column);
      }),
      cases(100),
    );
  });

  test('of ranges are read as they are written, with the corners in any order', () => {
    fc.assert(
      fc.property(cell, cell, (a, b) => {
        const range = {
          from: { row: Math.min(a.row, b.row), column: Math.min(a.column, b.column) },
          to: { row: Math.max(a.row, b.row), column: Math.max(a.column, b.column) },
        };
        expect(parseRange(formatRange(range))).toEqual(range);
        expect(
          parseRange(`$${columnLetters(b.column)}$${b.row}:${columnLetters(a.column).toLowerCase()}${a.row}`),
        ).toEqual(range);
      }),
      cases(100),
    );
  });

  test('of whole columns and rows are ranges', () => {
    expect(parseRange('$C:A')).toEqual({ from: { row: 1, column: 1 }, to: { row: MAX_ROW, column: 3 } });
    expect(parseRange('4:9')).toEqual({ from: { row: 4, column: 1 }, to: { row: 9, column: MAX_COLUMN } });
  });

  test.each(['', 'A', '1', 'A0', 'XFE1', 'A1048577', 'A1:B2:C3', 'A1:B', 'A:1', 'ABCD1', 'A1 ', '#REF!', '$$A1'])(
    'cannot be %j',
    (text) => {
      expect(parseCell(text)).toBeUndefined();
      expect(parseRange(text)).toBeUndefined();
    },
  );

  test('include the sheet by its visible name', () => {
    const range = parseRange('B4:C9');
    expect(parseSheetRange('Board!$B$4:$C$9')).toEqual({ sheet: 'Board', range });
    expect(parseSheetRange("'It''s a board!'!B4:C9")).toEqual({ sheet: "It's a board!", range });
    for (const other of ['B4:C9', "'A:B'!B4", 'A:B!B4', '[1]Board!B4', "'[x.xlsx]B'!B4", 'Board!#REF!', 'A!B4,A!B5']) {
      expect(parseSheetRange(other), other).toBeUndefined();
    }
  });

  test('quote sheet names that could be taken for something else', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, maxLength: 31 }).filter((name) => !/[:[\]]/.test(name)),
        (sheet) => {
          expect(parseSheetRange(`${quoteSheetName(sheet)}!B4:C9`)).toEqual({ sheet, range: parseRange('B4:C9') });
        },
      ),
      cases(100),
    );
    expect(['Board', 'R1C1', 'r', 'AB12', '2026', 'a b', "a'b", 'Größe', 'TRUE'].map(quoteSheetName)).toEqual([
      'Board',
      "'R1C1'",
      "'r'",
      "'AB12'",
      "'2026'",
      "'a b'",
      "'a''b'",
      "'Größe'",
      "'TRUE'",
    ]);
  });
});
