import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DocketError } from '../../../../src/base/error.ts';
import { insertedRows, type RowBand } from '../../../../src/render/workbook-template/growth/growth.ts';
import { planGrowth } from '../../../../src/render/workbook-template/growth/plan-growth.ts';
import { createReferenceMap } from '../../../../src/render/workbook-template/growth/reference-map.ts';
import { parseRange } from '../../../../src/render/workbook-template/workbook/addresses.ts';
import { MAX_ROW } from '../../../../src/render/workbook-template/workbook/cells.ts';
import type { TemplateTable } from '../../../../src/render/workbook-template/workbook/workbook.ts';
import { cases } from '../../../support/fuzz.ts';

function table(name: string, ref: string, totalsRows = 0): TemplateTable {
  const range = parseRange(ref);
  if (range === undefined) throw new Error(`no range: ${ref}`);
  return { part: `${name}.xml`, sheet: 'Board', name, range, headerRows: 1, totalsRows, columns: [] };
}

const codeOf = (run: () => unknown): string | undefined => {
  try {
    run();
    return undefined;
  } catch (error) {
    return (error as DocketError).code;
  }
};

describe('planGrowth', () => {
  it('lets tables grow together that start and end together, by the largest need', () => {
    const plan = planGrowth([
      { table: table('below', 'A20:C22'), rows: 0 },
      { table: table('right', 'F3:G7', 1), rows: 9 },
      { table: table('left', 'A3:C6'), rows: 2 },
    ]);
    expect([...plan.keys()]).toEqual(['Board']);
    expect(plan.get('Board')).toEqual([
      {
        first: 4,
        last: 6,
        rows: 9,
        tables: [
          { name: 'left', fromColumn: 1, toColumn: 3, totalsRow: false },
          { name: 'right', fromColumn: 6, toColumn: 7, totalsRow: true },
        ],
      },
      { first: 21, last: 22, rows: 1, tables: [{ name: 'below', fromColumn: 1, toColumn: 3, totalsRow: false }] },
    ]);
  });

  it.each([
    ['other rows of data', 'A3:C6', 'F3:G7'],
    ['a header in the rows of data', 'A3:C6', 'F5:G6'],
    ['a header beside the last row of data', 'A3:C6', 'F6:G9'],
  ])('refuses tables side by side with %s', (_, left, right) => {
    const needs = [left, right].map((ref, index) => ({ table: table(`t${index}`, ref), rows: 2 }));
    expect(codeOf(() => planGrowth(needs))).toBe('template.invalid');
  });

  it('refuses more rows than a sheet has', () => {
    const plan = (rows: number) => () => planGrowth([{ table: table('cases', 'A1:C2'), rows }]);
    expect(codeOf(plan(MAX_ROW - 1))).toBeUndefined();
    expect(codeOf(plan(MAX_ROW))).toBe('render.failed');
  });
});

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

  it('moves rows as inserting them one after the other does, and keeps their order', () => {
    fc.assert(
      fc.property(bands, ranges, (plan, range) => {
        // The rows of the grown sheet, as rows of the template; 0 for those that were inserted.
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

  it('grows at once as in two steps', () => {
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

  it('keeps ranges within a sheet, in order, and over the rows left, however a table shrinks or grows', () => {
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
