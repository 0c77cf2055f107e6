import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type PrintedRows,
  rowBreaks,
  unmeasuredBreaks,
} from '../../../../src/render/formats/xlsx/sections/row-breaks.ts';

const rows = (count: number, change: Partial<PrintedRows> = {}): PrintedRows => ({
  heights: Array.from({ length: count }, () => 10),
  page: 500,
  header: 40,
  head: 60,
  totals: 0,
  notes: 0,
  across: 1,
  headUse: change.head ?? 60,
  ...change,
});

/** The points that each page uses, for the first page of columns and for a further one. */
function pagesOf(of: PrintedRows) {
  const { beforeHeader, after } = rowBreaks(of);
  const { heights, head, header, totals, notes } = of;
  const ends = [...after, heights.length];
  const sizes = ends.map((end, index) => heights.slice(ends[index - 1] ?? 0, end).reduce((sum, each) => sum + each, 0));
  const last = sizes.length - 1;
  const further = sizes.map((size, index) => header + size + (index === last ? totals : 0));
  const first = further.map((size, index) => {
    return size + (index === 0 && !beforeHeader ? head : 0) + (index === last ? notes : 0);
  });
  return { first: beforeHeader ? [head, ...first] : first, further, ends };
}

describe('a table on one page of columns', () => {
  it('has no break when it fits on a page, or when its last page is well filled', () => {
    expect(rowBreaks(rows(40))).toEqual({ beforeHeader: false, after: [] });
    expect(rowBreaks(rows(60))).toEqual({ beforeHeader: false, after: [] });
  });

  it('moves rows to its last page when that would be nearly empty', () => {
    // 40 rows fit on the first page.
    const { after } = rowBreaks(rows(43));
    expect(after).toHaveLength(1);
    const [first = 0, second = 0] = pagesOf(rows(43)).first;
    expect(Math.abs(first - second)).toBeLessThanOrEqual(20);
    // The rows fit, the notes do not.
    const [above = 0, below = 0] = pagesOf(rows(40, { notes: 50 })).first;
    expect(Math.abs(above - below)).toBeLessThanOrEqual(20);
    expect(pagesOf(rows(86)).ends).toHaveLength(1);
    expect(pagesOf(rows(88)).ends).toEqual([expect.any(Number), 88]);
  });

  it('moves rows to the page of its totals, so that totals never begin a page', () => {
    const ends = (count: number) => rowBreaks(rows(count, { totals: 22, notes: 300 })).after;
    // 40 rows fit on the first page, and 37 with the totals.
    expect(ends(40)).toEqual([33]);
    expect(ends(38)[0]).toBeLessThan(38);
    expect(ends(37)).toEqual([]);
    expect(unmeasuredBreaks(5000, 22).after).toEqual([4997]);
    expect(unmeasuredBreaks(5000, 0).after).toEqual([]);
  });

  it('begins a new page when only few rows would fit below its header', () => {
    expect(rowBreaks(rows(20, { head: 440 }))).toMatchObject({ beforeHeader: true });
    expect(rowBreaks(rows(20, { head: 300 }))).toMatchObject({ beforeHeader: false });
  });
});

describe('a table over several pages of columns', () => {
  const across = { across: 3 };

  it('has the same rows on each of them, and no page that is nearly empty', () => {
    expect(rowBreaks(rows(40, across))).toEqual({ beforeHeader: false, after: [] });
    expect(pagesOf(rows(43, across)).further.every((size) => size >= 150)).toBe(true);
    // Below a high head only few rows would fit.
    expect(rowBreaks(rows(25, { ...across, head: 350 }))).toEqual({ beforeHeader: true, after: [] });
  });

  it('fits its pages, keeps three rows with its header, and fills a quarter of every page if it has enough rows', () => {
    const arbitrary = fc.record({
      heights: fc.array(fc.constantFrom(14, 14, 14, 27, 40), { minLength: 3, maxLength: 120 }),
      page: fc.constantFrom(498, 622),
      header: fc.integer({ min: 17, max: 120 }),
      head: fc.integer({ min: 30, max: 600 }),
      totals: fc.constantFrom(0, 22),
      notes: fc.integer({ min: 0, max: 120 }),
      across: fc.integer({ min: 2, max: 5 }),
    });
    fc.assert(
      fc.property(arbitrary, (requested) => {
        const of = { ...requested, headUse: requested.head };
        const { first, further, ends } = pagesOf(of);
        // The part above the header fills whole pages, and the rows begin on the next page.
        const flows = of.head >= of.page;
        for (const size of flows ? further : first) expect(size).toBeLessThanOrEqual(of.page);
        if (first.length === further.length) expect(ends[0]).toBeGreaterThanOrEqual(3);
        const all = of.heights.reduce((sum, each) => sum + each, 0);
        if (all >= 0.7 * of.page) for (const size of further) expect(size).toBeGreaterThanOrEqual(of.page / 4);
      }),
    );
  });
});
