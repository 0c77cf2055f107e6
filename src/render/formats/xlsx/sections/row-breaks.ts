/** Of a page of rows beside a page with a title: at least this share is in use. */
const MIN_SHARE = 0.35;

/**
 * Page breaks that spread rows evenly: the pages of further columns break at the same rows, and none is nearly empty.
 * @param heights of the rows, in points
 * @param page points of a page below its header
 * @param head points above the header on the first page
 * @returns after how many rows a page ends; empty where all fit on one
 */
export function evenBreaks(heights: readonly number[], page: number, head: number): number[] {
  const total = heights.reduce((sum, height) => sum + height, 0);
  const first = Math.max(0, page - head);
  if (total <= first) return [];
  const count = 1 + Math.ceil((total - first) / page);
  const even = (total + head) / count;
  const breaks: number[] = [];
  let limit = Math.min(first, Math.max(even - head, page * MIN_SHARE));
  let used = 0;
  for (const [index, height] of heights.entries()) {
    if (used > 0 && used + height > limit) {
      breaks.push(index);
      const left = heights.slice(index).reduce((sum, each) => sum + each, 0);
      limit = Math.min(page, left / Math.max(1, Math.ceil(left / page)) + height);
      used = 0;
    }
    used += height;
  }
  return breaks;
}
