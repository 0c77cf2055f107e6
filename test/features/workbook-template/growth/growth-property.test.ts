import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseFormula } from '../../../../src/features/workbook-template/growth/formula-references.ts';
import { insertedRows, type RowBand } from '../../../../src/features/workbook-template/growth/growth.ts';
import { createFillDown } from '../../../../src/features/workbook-template/growth/map-formula.ts';
import { createReferenceMap } from '../../../../src/features/workbook-template/growth/reference-map.ts';
import { MAX_ROW } from '../../../../src/features/workbook-template/workbook/addresses.ts';
import { cases } from '../../../support/fuzz.ts';

describe('createReferenceMap', () => {
  const bands = fc
    .array(fc.record({ gap: fc.integer({ min: 1, max: 5 }), size: fc.integer({ min: 1, max: 6 }), more: fc.nat(9) }), {
      minLength: 1,
      maxLength: 4,
    })
    .map((blocks) => {
      let row = 1;
      return blocks.map(({ gap, size, more }): RowBand => {
        const first = row + gap;
        row = first + size;
        return {
          first,
          last: row - 1,
          rows: size + more,
          tables: [{ name: 't', fromColumn: 2, toColumn: 4, totalsRow: false }],
        };
      });
    });
  const ranges = fc.tuple(fc.integer({ min: 1, max: 50 }), fc.nat(20)).map(([from, more]) => ({
    from: { row: from, column: 3 },
    to: { row: from + more, column: 3 },
  }));
  const mapOf = (plan: readonly RowBand[]) => createReferenceMap(new Map([['Board', plan]]));

  it('moves rows as inserting them one by one would, and keeps their order', () => {
    fc.assert(
      fc.property(bands, ranges, (plan, range) => {
        // The rows of the grown sheet, as rows of the template. 0 stands for an inserted row.
        const grown: number[] = [];
        for (let row = 1; row <= 80; row += 1) {
          grown.push(row);
          for (const band of plan) if (band.last === row) grown.push(...Array<number>(insertedRows(band)).fill(0));
        }
        const map = mapOf(plan);
        const placeOf = (row: number): number => grown.indexOf(row) + 1;
        const { from, to } = map.range('board', range, 'body');
        const inserted = plan.find(({ last }) => last === range.to.row);
        expect(from.row).toBe(placeOf(range.from.row));
        expect(to.row).toBe(placeOf(range.to.row) + (inserted ? insertedRows(inserted) : 0));
        expect(map.cell('Board', range.to)).toEqual({ row: placeOf(range.to.row), column: 3 });
      }),
      cases(1_000),
    );
  });

  it('gives the same ranges when a table grows at once or in two steps', () => {
    fc.assert(
      fc.property(bands, ranges, fc.nat(9), (plan, range, more) => {
        const halfway = mapOf(plan);
        const after = plan.map((band) => ({
          ...band,
          first: halfway.row('Board', band.first),
          last: halfway.row('Board', band.first) + band.rows - 1,
          rows: band.rows + more,
        }));
        const atOnce = mapOf(plan.map((band) => ({ ...band, rows: band.rows + more })));
        const steps = mapOf(after).range('Board', halfway.range('Board', range, 'body'), 'body');
        expect(atOnce.range('Board', range, 'body')).toEqual(steps);
      }),
      cases(1_000),
    );
  });

  it('keeps ranges within the sheet, in order and over the remaining rows, however a table grows or shrinks', () => {
    fc.assert(
      fc.property(bands, ranges, fc.integer({ min: 1, max: MAX_ROW }), fc.boolean(), (plan, range, rows, totals) => {
        const [band, ...others] = plan;
        if (band === undefined) return;
        const tables = band.tables.map((one) => ({ ...one, totalsRow: totals }));
        const map = mapOf([{ ...band, rows, tables }, ...others]);
        const { from, to } = map.range('Board', range, 'body');
        expect(1 <= from.row && from.row <= to.row && to.row <= MAX_ROW).toBe(true);
        if (range.to.row === band.last) expect(to.row).toBe(Math.min(MAX_ROW, band.first + rows - 1));
      }),
      cases(1_000),
    );
  });
});

it('parseFormula splits any text into pieces that add up to the text', () => {
  const pieces = fc.constantFrom(
    "'",
    '"',
    '[',
    ']',
    '!',
    ':',
    '.',
    '#',
    '@',
    '$',
    '(',
    ',',
    ' ',
    '=',
    '-',
    'A1',
    'XFD9',
    '1',
    'é',
    '😀',
    'Sheet',
    '#REF!',
    'SUM(',
    '{',
    '&',
    '\n',
    'TRUE',
    '1E5',
    "''",
    'R1C1',
    '5:5',
    'A:B',
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
      const formula = parts.join('');
      const read = parseFormula(formula);
      expect(read.map((piece) => (typeof piece === 'string' ? piece : piece.raw)).join('')).toBe(formula);
      expect(createFillDown(formula)(0, 0)).toBe(formula);
    }),
    cases(5_000),
  );
});
