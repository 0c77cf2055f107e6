import { describe, expect, it } from 'vitest';
import { createRowBudget } from '../../../../src/render/formats/pdf/data/section-data.ts';
import { MAX_PDF_ROWS, rowIssues } from '../../../../src/render/formats/pdf/pdf-limits.ts';

describe('the check of the rows of a PDF', () => {
  it('accepts as many rows as fit', () => {
    expect(
      rowIssues([
        { id: 'a', limit: MAX_PDF_ROWS - 20 },
        { id: 'b', layout: 'exceptions' },
      ]),
    ).toEqual([]);
  });

  it('refuses more rows than the limit, and names the sections that request most', () => {
    const issues = rowIssues([1, 2, 3, 4].map((n) => ({ id: `long-${n}`, limit: 5000 })));
    expect(issues).toEqual([expect.objectContaining({ path: ['format'] })]);
    expect(issues[0]?.expected).toContain(String(MAX_PDF_ROWS));
    expect(issues[0]?.expected).toContain('20000');
    expect(issues[0]?.expected).toContain('"long-1" 5000');
  });

  it('ignores sections that are not printed and rows that exceptions leave out', () => {
    expect(rowIssues([{ id: 'a', limit: 5000, print: false }])).toEqual([]);
    expect(rowIssues([{ id: 'a', limit: 5000, layout: 'exceptions', top: 10 }])).toEqual([]);
  });

  it('requires a decision whether a list is printed', () => {
    expect(rowIssues([{ id: 'roster', list: 'profiles' }])).toEqual([
      expect.objectContaining({ expected: expect.stringContaining('"roster"') }),
    ]);
    for (const decided of [{ print: true }, { print: false }, { layout: 'exceptions' }]) {
      expect(rowIssues([{ id: 'roster', list: 'profiles', ...decided }])).toEqual([]);
    }
  });

  it('ignores sections with errors', () => {
    expect(rowIssues([{ id: 7, limit: 'many', list: 3 }, null, 'text'])).toEqual([]);
  });
});

describe('the rows that a run may show', () => {
  it('end at the limit of rows or at the limit of cells, whichever comes first', () => {
    const budget = createRowBudget(100, 150);
    expect(budget.take(40, 1)).toBe(40);
    expect(budget.take(80, 2)).toBe(55);
    expect(budget.take(80, 1)).toBe(0);
    expect(createRowBudget(5, 100).take(80, 1)).toBe(5);
  });
});
