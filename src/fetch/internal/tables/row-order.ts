import type { Order } from '../../../contract/report.ts';

/** A row with its default position: by bucket, then by each dimension in turn. */
export interface SortableRow {
  readonly row: Readonly<Record<string, unknown>>;
  readonly bucket: number;
  /** Position of the row's group among all groups. */
  readonly rank: number;
}

type Ranks = ReadonlyMap<string, (value: unknown) => number>;

/**
 * Compares joined rows in the service's order (specification §2.7). The specification leaves undefined values and ties
 * open: undefined values are last in either direction, and ties have the default order.
 * @param ranks rank of a value within its dimension
 */
export function compareRows(order: readonly Order[], ranks: Ranks): (a: SortableRow, b: SortableRow) => number {
  const keys = order.map(({ by, dir }) => ({ sign: dir === 'asc' ? 1 : -1, read: createSortKey(by, ranks) }));
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

function createSortKey(by: string, ranks: Ranks): (placed: SortableRow) => number | undefined {
  if (by === 'bucket') return ({ bucket }) => bucket;
  const rank = ranks.get(by);
  if (rank !== undefined) return ({ row }) => rank(row[by]);
  return ({ row }) => {
    const value = row[by];
    return typeof value === 'number' ? value : undefined;
  };
}
