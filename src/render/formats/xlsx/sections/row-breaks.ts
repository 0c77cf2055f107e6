/** The printed parts of a table, in points. */
export interface PrintedRows {
  readonly heights: readonly number[];
  /** The height of a page. */
  readonly page: number;
  /** The height of the header, which every page repeats. */
  readonly header: number;
  /** The height of what is above the header, on the first page only. */
  readonly head: number;
  /** The part of `head` that is visibly used: a chart has much white space. */
  readonly headUse: number;
  /** The height of the totals below the last row. */
  readonly totals: number;
  /** The height of the notes below the totals, only on pages with the first columns. */
  readonly notes: number;
  /** How many pages the columns take side by side. All of them break at the same rows. */
  readonly across: number;
}

/** Where the printed pages of a table end. */
export interface RowBreaks {
  /** The header begins a new page. What is above it has a page of its own. */
  readonly beforeHeader: boolean;
  /** The numbers of rows after which a page ends. */
  readonly after: readonly number[];
}

export const NO_BREAKS: RowBreaks = { beforeHeader: false, after: [] };

/**
 * The page breaks of a table with so many rows that they are not measured. The last rows begin a page, so that the
 * totals never do alone.
 */
export const unmeasuredBreaks = (rows: number, totals: number): RowBreaks =>
  totals > 0 && rows > MAX_UNBROKEN_ROWS ? { beforeHeader: false, after: [rows - MIN_FIRST_ROWS] } : NO_BREAKS;

/** Up to this many rows beside a chart share its page. */
const MAX_UNBROKEN_ROWS = 100;
/** A page that is used less than this looks almost empty: with margins, a quarter of the paper. */
const MIN_SHARE = 0.3;
/** Pages that are used more than this are good enough. Then only the number of pages decides. */
const GOOD_SHARE = 0.4;
/** The least number of rows that stay with the header on the first page. */
const MIN_FIRST_ROWS = 3;
/** How many pages more than the minimum are tried. */
const MORE_PAGES = 1;
/** The least space for rows below the header of a page, in points. */
const MIN_BODY = 60;

/**
 * Finds page breaks that leave no page almost empty.
 *
 * If all columns fit on a page, the table flows from page to page. Only if the last page would be almost empty, it gets
 * some rows of the page before. If the columns take several pages, all of them break at the same rows: the rows are
 * spread so that the emptiest page is as full as possible, on few pages.
 */
export function rowBreaks(rows: PrintedRows): RowBreaks {
  const body = rows.page - rows.header;
  // A head that is higher than a page flows over whole pages.
  const head = rows.head % rows.page;
  if (body < MIN_BODY || rows.heights.length === 0) return NO_BREAKS;
  const sums = prefixSums(rows.heights);
  const all = sums.at(-1) ?? 0;
  if (head + all + rows.totals + rows.notes <= body) return NO_BREAKS;
  return rows.across === 1 ? flowingBreaks(rows, head, sums) : spreadBreaks(rows, head, sums);
}

const prefixSums = (heights: readonly number[]): number[] => {
  const sums = [0];
  for (const height of heights) sums.push((sums.at(-1) ?? 0) + height);
  return sums;
};

const between = (sums: readonly number[], from: number, to: number): number => (sums[to] ?? 0) - (sums[from] ?? 0);

/** How many rows from `from` on fit into `points`; at least one. */
function fitting(sums: readonly number[], from: number, points: number): number {
  let to = from + 1;
  while (to < sums.length - 1 && between(sums, from, to + 1) <= points) to += 1;
  return to;
}

/** At most one break: before the last page, if that would be almost empty. */
function flowingBreaks({ heights, page, header, totals, notes }: PrintedRows, head: number, sums: readonly number[]) {
  const count = heights.length;
  const body = page - header;
  const tail = totals + notes;
  const beforeHeader = head >= page * MIN_SHARE && between(sums, 0, Math.min(MIN_FIRST_ROWS, count)) > body - head;
  const above = beforeHeader ? 0 : head;
  let [before, start] = [0, 0];
  let end = fitting(sums, 0, body - above);
  while (end < count) {
    [before, start] = [start, end];
    end = fitting(sums, end, body);
  }
  const overflow = between(sums, start, count) + (start === 0 ? above : 0) + tail > body;
  // If the last rows fit on the page but what is below them does not, it takes rows to the next page.
  if (overflow) [before, start] = [start, count];
  const last = header + between(sums, start, count) + tail;
  // Totals never begin a page: the last rows go with them.
  const alone = start === count && between(sums, before, count) + (before === 0 ? above : 0) + totals > body;
  if (start === 0 || (last >= page * MIN_SHARE && !alone)) return { beforeHeader, after: [] };
  const first = before === 0 ? above : 0;
  const even = (first + between(sums, before, count) + tail) / 2;
  let at = Math.min(count - 1, start);
  const least = before + MIN_FIRST_ROWS;
  while (at > least && between(sums, at, count) + tail < even && between(sums, at - 1, count) + tail <= body) {
    at -= 1;
  }
  return { beforeHeader, after: at >= least ? [at] : [] };
}

interface Spread extends RowBreaks {
  /** Points used on the emptiest page that counts. All pages that are good enough count the same. */
  readonly least: number;
  readonly pages: number;
  /** Smaller is more even. */
  readonly unevenness: number;
}

const isBetter = (one: Spread, other: Spread | undefined): boolean =>
  other === undefined ||
  one.least > other.least ||
  (one.least === other.least && one.pages < other.pages) ||
  (one.least === other.least && one.pages === other.pages && one.unevenness < other.unevenness);

/** Tries all ways to break the rows, both directly below the head and on pages of their own, and returns the best. */
function spreadBreaks(rows: PrintedRows, head: number, sums: readonly number[]): RowBreaks {
  let best: Spread | undefined;
  for (const beforeHeader of head > 0 ? [false, true] : [false]) {
    for (const spread of spreads(rows, beforeHeader ? 0 : head, sums)) {
      const least = beforeHeader ? Math.min(spread.least, rows.headUse) : spread.least;
      const pages = spread.pages + (beforeHeader ? 1 : 0);
      const found = { ...spread, beforeHeader, least, pages };
      if (isBetter(found, best)) best = found;
    }
  }
  return best === undefined ? NO_BREAKS : { beforeHeader: best.beforeHeader, after: best.after };
}

interface Step {
  readonly from: number;
  readonly least: number;
  readonly unevenness: number;
}

/** The best breaks for each number of pages, beginning with the fewest. */
function spreads(
  { heights, page, header, totals, notes }: PrintedRows,
  head: number,
  sums: readonly number[],
): Spread[] {
  const count = heights.length;
  const body = page - header;
  const good = page * GOOD_SHARE;
  // Notes that fit on no page flow on.
  const tail = totals + (totals + notes <= body ? notes : 0);
  /** Indexed by the number of pages, then by the number of rows on them. */
  const steps: (Step | undefined)[][] = [];
  const found: Spread[] = [];
  for (let pages = 1; pages <= count && found.length <= MORE_PAGES; pages += 1) {
    const previous = steps.at(-1);
    const own: (Step | undefined)[] = Array.from({ length: count + 1 });
    for (let from = 0; from < count; from += 1) {
      const earlier = previous === undefined ? undefined : previous[from];
      if (previous === undefined ? from > 0 : earlier === undefined) continue;
      const above = previous === undefined ? head : 0;
      for (let to = from + 1; to <= count; to += 1) {
        const height = between(sums, from, to);
        const load = above + height + (to === count ? tail : 0);
        if (load > body && (to > from + 1 || above > 0)) break;
        if (previous === undefined && head > 0 && to < Math.min(MIN_FIRST_ROWS, count)) continue;
        // Pages with further columns have neither the head nor the notes.
        const used = header + height + (to === count ? totals : 0);
        const least = Math.min(earlier?.least ?? good, used);
        const unevenness = (earlier?.unevenness ?? 0) + used ** 2;
        const known = own[to];
        if (known === undefined || least > known.least || (least === known.least && unevenness < known.unevenness)) {
          own[to] = { from, least, unevenness };
        }
      }
    }
    steps.push(own);
    const end = own[count];
    if (end !== undefined) {
      const { least, unevenness } = end;
      found.push({ beforeHeader: false, after: collectBreaks(steps, count), least, pages, unevenness });
    }
  }
  return found;
}

/** Follows the steps back from the last row. */
function collectBreaks(steps: readonly (readonly (Step | undefined)[])[], count: number): number[] {
  const after: number[] = [];
  let to = count;
  for (const step of [...steps].reverse()) {
    to = step[to]?.from ?? 0;
    if (to > 0) after.unshift(to);
  }
  return after;
}
