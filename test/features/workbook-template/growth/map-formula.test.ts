import { describe, expect, it } from 'vitest';
import type { RowBand } from '../../../../src/features/workbook-template/growth/growth.ts';
import { createFillDown, mapFormula } from '../../../../src/features/workbook-template/growth/map-formula.ts';
import { createReferenceMap } from '../../../../src/features/workbook-template/growth/reference-map.ts';

const band = (rows: number): RowBand => ({
  first: 2,
  last: 5,
  rows,
  tables: [{ name: 'cases', fromColumn: 1, toColumn: 4, totalsRow: true }],
});
const mapOf = (rows: number) => createReferenceMap(new Map([["Bo'ard", [band(rows)]]]));

/** Maps a formula on the sheet of the table. */
const on = (rows: number) => (formula: string) => mapFormula(formula, "Bo'ard", mapOf(rows));

describe('mapFormula', () => {
  it.each([
    ['SUM(B2:B5)', 'SUM(B2:B15)'],
    ['SUM($B$5:$B$2)', 'SUM($B$15:$B$2)'],
    ['B5', 'B5'],
    ['B5:B5', 'B5:B15'],
    ['B2:B4', 'B2:B4'],
    ['SUM(B2 : B5)', 'SUM(B2 : B15)'],
    ["SUM('Bo''ard'!B2:'Bo''ard'!B5)", "SUM('Bo''ard'!B2:'Bo''ard'!B15)"],
    ['B6+B1', 'B16+B1'],
    ['B1:B6', 'B1:B16'],
    ['B7:$C9', 'B17:$C19'],
    ['SUM(B:B,2:5,$7:7,B2:B1048576)', 'SUM(B:B,2:15,$17:17,B2:B1048576)'],
    ['(B2:B5,D7) B5#', '(B2:B15,D17) B5#'],
    ['@B2:B5%', '@B2:B15%'],
    ['B6:INDEX(B2:B5,2)', 'B16:INDEX(B2:B15,2)'],
    ['_xlfn._xlws.FILTER(b2:b5,b6)', '_xlfn._xlws.FILTER(b2:b15,b16)'],
    ['B2.:.B5', 'B2.:.B15'],
    ['"B2:B5"&cases[B5]&cases[[#This Row],[B6]]', '"B2:B5"&cases[B5]&cases[[#This Row],[B6]]'],
    ["'Bo''ard'!B6+'bo''ARD'!B6", "'Bo''ard'!B16+'bo''ARD'!B16"],
    ["Other!B6+[1]Bo!B6+'[b.xlsx]Bo''ard'!B6", "Other!B6+[1]Bo!B6+'[b.xlsx]Bo''ard'!B6"],
    ["Jan:Dec!B6+'C:\\x\\[b.xlsx]S'!B6", "Jan:Dec!B6+'C:\\x\\[b.xlsx]S'!B6"],
    ['LOG10(10)+#REF!+Tax.B6+1E5-TRUE', 'LOG10(10)+#REF!+Tax.B6+1E5-TRUE'],
  ])('grows %s', (formula, grown) => expect(on(14)(formula)).toBe(grown));

  it.each([
    ['SUM(B2:B5)', 'SUM(B2:B3)'],
    ['SUM(B1:B5,B4:B5)', 'SUM(B1:B3,B3:B3)'],
    // A range beyond the columns of the table keeps its end, since nothing is cleared there.
    ['SUM(E2:E5,B2:E5,2:5)', 'SUM(E2:E5,B2:E5,2:5)'],
    ['B6+E6+B5+B7', 'B4+E6+B5+B7'],
    ['A1:D6', 'A1:D4'],
    ['A1:D7', 'A1:D7'],
  ])('shrinks %s', (formula, shrunk) => expect(on(2)(formula)).toBe(shrunk));

  it('keeps references relative to the row of a formula in a table', () => {
    const map = (formula: string, row: number, filled: boolean) =>
      mapFormula(formula, "Bo'ard", mapOf(14), { row, filled });
    expect(map('SUM(B$2:B5)/SUM(B$2:B$5)', 5, true)).toBe('SUM(B$2:B5)/SUM(B$2:B$15)');
    expect(map('SUM(B5:D5)+SUM(B2:B5)', 5, false)).toBe('SUM(B5:D5)+SUM(B2:B15)');
    expect(map('SUM(B5:D5)', 9, false)).toBe('SUM(B5:D15)');
  });

  it('treats a single cell as a table of one row on request', () => {
    expect(mapFormula("'Bo''ard'!$B$5", 'Chart', mapOf(14), undefined, 'body')).toBe("'Bo''ard'!$B$5:$B$15");
    expect(mapFormula("'Bo''ard'!$B$6", 'Chart', mapOf(14), undefined, 'body')).toBe("'Bo''ard'!$B$16");
  });

  it('returns the formula unchanged while nothing moves', () => expect(on(4)('SUM(B2:B5)')).toBe('SUM(B2:B5)'));
});

describe('createFillDown', () => {
  it.each([
    ['SUM(B$2:B5)*$C5/D$6', 10, 0, 'SUM(B$2:B15)*$C15/D$6'],
    ['Z1+$Z1+ZZ$1', 0, 1, 'AA1+$Z1+AAA$1'],
    ['Other!A1:$A$1+A:A+$A:$A+5:$5', 1, 1, 'Other!B2:$A$1+B:B+$A:$A+6:$5'],
    ['Other!A1+Jan:Dec!B1+XFD2', -1, 1, 'Other!#REF!+Jan:Dec!#REF!+#REF!'],
    ['cases[@A1]&"A1"&A1#', 1, 0, 'cases[@A1]&"A1"&A2#'],
  ])('fills %s down by %i rows and %i columns', (formula, rows, columns, filled) =>
    expect(createFillDown(formula)(rows, columns)).toBe(filled),
  );
});
