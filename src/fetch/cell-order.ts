import type { Order } from '../contract/report.ts';

/** A row with its place when nothing is said of the order: by bucket, then by each dimension in turn. */
export interface PlacedRow {
  readonly row: Readonly<Record<string, unknown>>;
  readonly bucket: number;
  /** Place of its group among all groups. */
  readonly rank: number;
}

type Ranks = ReadonlyMap<string, (value: unknown) => number>;

/**
 * The service's order (specification §2.7) of rows that it could not sort itself. The specification leaves open where an
 * undefined figure goes and how ties fall: here it comes last in either direction, and ties fall as without an order.
 * @param ranks the place of a value among those of its dimension
 */
export function compareCells(order: readonly Order[], ranks: Ranks): (a: PlacedRow, b: PlacedRow) => number {
  const keys = order.map(({ by, dir }) => ({ sign: dir === 'asc' ? 1 : -1, read: keyOf(by, ranks) }));
  return (a, b) => {
    for (const { sign, read } of keys) {
      const [left, right] = [read(a), read(b)];
      if (left === undefined || right === undefined) {
        if (left !== right) return left === undefined ? 1 : -1;
      } else if (left !== right) return sign * (left - right);
    }
    return a.bucket - b.bucket || a.rank - b.rank;
  };
}

function keyOf(by: string, ranks: Ranks): (placed: PlacedRow) => number | undefined {
  if (by === 'bucket') return ({ bucket }) => bucket;
  const rank = ranks.get(by);
  if (rank !== undefined) return ({ row }) => rank(row[by]);
  return ({ row }) => {
    const value = row[by];
    return typeof value === 'number' ? value : undefined;
  };
}
