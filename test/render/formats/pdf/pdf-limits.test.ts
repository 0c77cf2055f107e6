import { describe, expect, it } from 'vitest';
import { createRowBudget } from '../../../../src/render/formats/pdf/data/section-data.ts';
import { MAX_PDF_ROWS, rowIssues } from '../../../../src/render/formats/pdf/pdf-limits.ts';

describe('rows of a PDF at the check', () => {
  it('may be as many as fit', () => {
    expect(
      rowIssues([
        { id: 'a', limit: MAX_PDF_ROWS - 20 },
        { id: 'b', layout: 'exceptions' },
      ]),
    ).toEqual([]);
  });

  it('are refused beyond the limit, with the sections that ask for most', () => {
    const issues = rowIssues([1, 2, 3, 4].map((n) => ({ id: `long-${n}`, limit: 5000 })));
    expect(issues).toEqual([expect.objectContaining({ path: ['format'] })]);
    expect(issues[0]?.expected).toContain(String(MAX_PDF_ROWS));
    expect(issues[0]?.expected).toContain('20000');
    expect(issues[0]?.expected).toContain('"long-1" 5000');
  });

  it('count neither what is not printed nor what exceptions leave out', () => {
    expect(rowIssues([{ id: 'a', limit: 5000, print: false }])).toEqual([]);
    expect(rowIssues([{ id: 'a', limit: 5000, layout: 'exceptions', top: 10 }])).toEqual([]);
  });

  it('of a list need a decision', () => {
    expect(rowIssues([{ id: 'roster', list: 'profiles' }])).toEqual([
      expect.objectContaining({ expected: expect.stringContaining('"roster"') }),
    ]);
    for (const decided of [{ print: true }, { print: false }, { layout: 'exceptions' }]) {
      expect(rowIssues([{ id: 'roster', list: 'profiles', ...decided }])).toEqual([]);
    }
  });

  it('of sections with errors are not judged', () => {
    expect(rowIssues([{ id: 7, limit: 'many', list: 3 }, null, 'text'])).toEqual([]);
  });
});

describe('the rows that a run may show', () => {
  it('end with the rows or with the cells, whichever comes first', () => {
    const budget = createRowBudget(100, 150);
    expect(budget.take(40, 1)).toBe(40);
    expect(budget.take(80, 2)).toBe(55);
    expect(budget.take(80, 1)).toBe(0);
    expect(createRowBudget(5, 100).take(80, 1)).toBe(5);
  });
});
