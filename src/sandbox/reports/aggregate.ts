import { firstIndex, NEVER, rowCount } from '../generator/fact-tables.ts';
import type { MetricDefinition, RowPredicate } from './metric-definition.ts';
import type { Snapshot } from './snapshot.ts';

/** Groups and filters of the rows of a table. */
export interface Grouping {
  readonly size: number;
  /** The group of a row, or -1 if a filter excludes the row. */
  readonly of: (row: number) => number;
}

/** A sorted column of instants with their rows. Events that have not happened are left out. */
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

/** Visits each row that counts, in order of time, with its cell, which is `bucket * groups + group`. */
type VisitRows = (visit: (row: number, cell: number) => void) => void;

const visitTimeline =
  (
    { at, row }: Timeline,
    edges: Float64Array,
    now: number,
    { of, size }: Grouping,
    where: RowPredicate,
    seen: Uint8Array,
  ): VisitRows =>
  (visit) => {
    const last = edges.length - 2;
    const end = Math.min(edges[last + 1] ?? 0, now + 1);
    let bucket = 0;
    for (let index = firstIndex(at.length, (place) => (at[place] ?? NEVER) >= (edges[0] ?? 0)); ; index++) {
      const instant = at[index] ?? NEVER;
      if (instant >= end) return;
      while (bucket < last && instant >= (edges[bucket + 1] ?? NEVER)) bucket++;
      const found = row[index] ?? 0;
      const group = of(found);
      if (group < 0 || !where(found)) continue;
      seen[group] = 1;
      visit(found, bucket * size + group);
    }
  };

/** Visits every row, in a single bucket, for a current count. */
const visitCurrent =
  (count: number, { of }: Grouping, where: RowPredicate, seen: Uint8Array): VisitRows =>
  (visit) => {
    for (let row = 0; row < count; row++) {
      if (!where(row)) continue;
      const group = of(row);
      if (group < 0) continue;
      seen[group] = 1;
      visit(row, group);
    }
  };

/**
 * Computes one metric by buckets and groups: one value per cell (`bucket * groups + group`), `NaN` if it is undefined.
 *
 * @param edges starts of the buckets and the end of the last one, epoch ms
 * @param seen gets a 1 for each group with a row that counts
 */
export function aggregate(
  metric: MetricDefinition,
  view: Snapshot,
  lines: (column: Float64Array) => Timeline,
  edges: Float64Array,
  grouping: Grouping,
  seen: Uint8Array,
): Float64Array {
  const { facts } = view.history;
  const cells = (edges.length - 1) * grouping.size;
  const where = metric.where?.(view) ?? (() => true);
  const rows =
    metric.at === undefined
      ? visitCurrent(rowCount(facts, metric.table), grouping, where, seen)
      : visitTimeline(lines(metric.at(facts)), edges, view.now, grouping, where, seen);

  switch (metric.aggregation) {
    case 'count':
      return count(rows, cells);
    case 'distinct':
      return distinct(rows, cells, metric.key?.(facts));
    case 'share':
      return share(rows, cells, metric.part?.(view));
    case 'p50':
      return percentile(0.5, rows, cells, metric.seconds?.(view));
    case 'p90':
      return percentile(0.9, rows, cells, metric.seconds?.(view));
  }
}

function count(rows: VisitRows, cells: number): Float64Array {
  const counts = new Float64Array(cells);
  rows((_, cell) => {
    counts[cell] = (counts[cell] ?? 0) + 1;
  });
  return counts;
}

function distinct(rows: VisitRows, cells: number, key: Uint32Array | undefined): Float64Array {
  const met = new Set<number>();
  return count((visit) => {
    rows((row, cell) => {
      const pair = (key?.[row] ?? row) * cells + cell;
      if (!met.has(pair)) visit(row, cell);
      met.add(pair);
    });
  }, cells);
}

function share(rows: VisitRows, cells: number, part: RowPredicate | undefined): Float64Array {
  const parts = new Float64Array(cells);
  const whole = count((visit) => {
    rows((row, cell) => {
      visit(row, cell);
      if (part?.(row)) parts[cell] = (parts[cell] ?? 0) + 1;
    });
  }, cells);
  // 0 / 0 is NaN: a rate of nothing is undefined (specification §2.8, rule 2).
  return parts.map((counted, cell) => counted / (whole[cell] ?? 0));
}

/** Interpolates linearly between the two nearest ranks, and rounds to milliseconds. */
function percentile(
  fraction: number,
  rows: VisitRows,
  cells: number,
  seconds: ((row: number) => number) | undefined,
): Float64Array {
  const starts = new Uint32Array(cells + 1);
  rows((_, cell) => {
    starts[cell + 1] = (starts[cell + 1] ?? 0) + 1;
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
