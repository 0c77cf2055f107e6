import { describe, expect, it } from 'vitest';
import type { DocketError } from '../../../../src/base/error.ts';
import { planGrowth } from '../../../../src/features/workbook-template/growth/plan-growth.ts';
import { MAX_ROW, parseRange } from '../../../../src/features/workbook-template/workbook/addresses.ts';
import type { TemplateTable } from '../../../../src/features/workbook-template/workbook/workbook.ts';

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
  it('lets aligned tables grow together, by the largest need', () => {
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
    ['different rows of data', 'A3:C6', 'F3:G7'],
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
