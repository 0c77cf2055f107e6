import type { MetricDeclaration, Test } from './declare.ts';
import { NEVER, rowCount } from './facts.ts';
import type { View } from './view.ts';

/** How rows of one table fall into groups, and which of them pass the filters. */
export interface Grouping {
  readonly size: number;
  /** Group of a row, or -1 when a filter keeps it out. */
  readonly of: (row: number) => number;
}

/** A column of instants in order, with the rows they belong to; what has not happened is left out. */
export interface Timeline {
  readonly at: Float64Array;
  readonly row: Uint32Array;
}

export function timeline(column: Float64Array): Timeline {
  const rows = Uint32Array.from(column.keys()).filter((row) => column[row] !== NEVER);
  const row = isSorted(column) ? rows : rows.sort((a, b) => (column[a] ?? 0) - (column[b] ?? 0));
  return { at: Float64Array.from(row, (index) => column[index] ?? NEVER), row };
}

const isSorted = (column: Float64Array) => column.every((at, row) => row === 0 || (column[row - 1] ?? at) <= at);

/** Which rows count, and in which cell: `visit(row, cell)`, a cell being `bucket * groups + group`, in order of time. */
type Walk = (visit: (row: number, cell: number) => void) => void;

function walk(lines: Timeline, edges: Float64Array, now: number, grouping: Grouping, where: Test | undefined): Walk {
  return (visit) => {
    const { at, row } = lines;
    const last = edges.length - 2;
    const end = Math.min(edges[last + 1] ?? 0, now + 1);
    let bucket = 0;
    for (let index = lowerBound(at, edges[0] ?? 0); index < at.length; index++) {
      const instant = at[index] ?? NEVER;
      if (instant >= end) return;
      while (bucket < last && instant >= (edges[bucket + 1] ?? NEVER)) bucket++;
      const found = row[index] ?? 0;
      const group = grouping.of(found);
      if (group >= 0 && (where === undefined || where(found))) visit(found, bucket * grouping.size + group);
    }
  };
}

/** A current count looks at every row, in the one bucket it has. */
const walkNow =
  (count: number, grouping: Grouping, where: Test): Walk =>
  (visit) => {
    for (let row = 0; row < count; row++) {
      if (!where(row)) continue;
      const group = grouping.of(row);
      if (group >= 0) visit(row, group);
    }
  };

function lowerBound(sorted: Float64Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? NEVER) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * One metric over buckets and groups: a value a cell (`bucket * groups + group`), `NaN` where it is undefined.
 *
 * @param edges starts of the buckets and the end of the last one, epoch ms
 * @param seen is set to 1 for each group in which a row counted
 */
export function compute(
  metric: MetricDeclaration,
  view: View,
  lines: (column: Float64Array) => Timeline,
  edges: Float64Array,
  grouping: Grouping,
  seen: Uint8Array,
): Float64Array {
  const { facts } = view.history;
  const cells = (edges.length - 1) * grouping.size;
  const where = metric.where?.(view);
  const rows =
    metric.at === undefined
      ? walkNow(rowCount(facts, metric.table), grouping, where ?? (() => true))
      : walk(lines(metric.at(facts)), edges, view.now, grouping, where);
  const mark = (cell: number) => {
    seen[cell % grouping.size] = 1;
  };

  switch (metric.aggregation) {
    case 'count': {
      const counts = new Float64Array(cells);
      rows((_, cell) => {
        counts[cell] = (counts[cell] ?? 0) + 1;
        mark(cell);
      });
      return counts;
    }
    case 'distinct':
      return distinct(rows, cells, metric.key?.(facts), mark);
    case 'share':
      return share(rows, cells, metric.part?.(view), mark);
    case 'p50':
      return percentile(0.5, rows, cells, metric.seconds?.(view), mark);
    case 'p90':
      return percentile(0.9, rows, cells, metric.seconds?.(view), mark);
  }
}

function distinct(rows: Walk, cells: number, key: Uint32Array | undefined, mark: (cell: number) => void): Float64Array {
  const counts = new Float64Array(cells);
  const met = new Set<number>();
  rows((row, cell) => {
    mark(cell);
    const pair = (key?.[row] ?? row) * cells + cell;
    if (met.has(pair)) return;
    met.add(pair);
    counts[cell] = (counts[cell] ?? 0) + 1;
  });
  return counts;
}

function share(rows: Walk, cells: number, part: Test | undefined, mark: (cell: number) => void): Float64Array {
  const whole = new Float64Array(cells);
  const parts = new Float64Array(cells);
  rows((row, cell) => {
    mark(cell);
    whole[cell] = (whole[cell] ?? 0) + 1;
    if (part?.(row)) parts[cell] = (parts[cell] ?? 0) + 1;
  });
  // 0 / 0 is NaN: a rate over nothing is undefined (specification §2.8, rule 2).
  return parts.map((count, cell) => count / (whole[cell] ?? 0));
}

/** Linear interpolation between the two nearest ranks, rounded to milliseconds. */
function percentile(
  fraction: number,
  rows: Walk,
  cells: number,
  seconds: ((row: number) => number) | undefined,
  mark: (cell: number) => void,
): Float64Array {
  const starts = new Uint32Array(cells + 1);
  rows((_, cell) => {
    starts[cell + 1] = (starts[cell + 1] ?? 0) + 1;
    mark(cell);
  });
  for (let cell = 0; cell < cells; cell++) starts[cell + 1] = (starts[cell + 1] ?? 0) + (starts[cell] ?? 0);
  const values = new Float64Array(starts[cells] ?? 0);
  const next = starts.slice();
  rows((row, cell) => {
    const place = next[cell] ?? 0;
    values[place] = seconds?.(row) ?? Number.NaN;
    next[cell] = place + 1;
  });
  const found = new Float64Array(cells).fill(Number.NaN);
  for (let cell = 0; cell < cells; cell++) {
    const first = starts[cell] ?? 0;
    const length = (starts[cell + 1] ?? 0) - first;
    if (length === 0) continue;
    if (length === 1) {
      found[cell] = values[first] ?? 0;
      continue;
    }
    const group = values.subarray(first, first + length).sort();
    const rank = fraction * (group.length - 1);
    const low = group[Math.floor(rank)] ?? 0;
    const high = group[Math.ceil(rank)] ?? 0;
    found[cell] = Math.round((low + (high - low) * (rank - Math.floor(rank))) * 1000) / 1000;
  }
  return found;
}
