import { isSum } from '../../contract/catalog.ts';
import type { Row, Table, Value } from '../../fetch/dataset.ts';
import { firstRows, iterateRows } from '../../fetch/rows.ts';
import type { ViewColumn } from '../figures/columns.ts';
import { numberOrNull } from '../figures/quantity.ts';

/** Whether the values of groups may be added up. Current counts may, distinct counts and rates may not. */
export const isAddable = ({ addable, unit, aggregation = '' }: ViewColumn['source']): boolean =>
  addable !== false && isSum({ unit, aggregation });

/** The mean of the values of a group, without those that are undefined. */
export function sizeOf(values: ReadonlyMap<Value, number | null>): number {
  const known = [...values.values()].filter((value) => value !== null);
  return known.length === 0 ? Number.NEGATIVE_INFINITY : known.reduce((sum, value) => sum + value, 0) / known.length;
}

/** The sums of the groups by bucket; null where no group has a value. */
export const sumsOf = (groups: readonly (readonly (number | null)[])[]): (number | null)[] =>
  (groups[0] ?? []).map((_, at) => {
    const known = groups.flatMap((values) => values[at] ?? []);
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
  });

/** The rows of the largest groups by a metric, in their own order; the first ones where the definition orders them. */
export function largestRows({ rows, ordered }: Table, metric: ViewColumn | undefined, most: number): readonly Row[] {
  if (ordered || metric === undefined || rows.length <= most) return firstRows(rows, most);
  const all = [...iterateRows(rows)];
  const size = (row: Row): number => numberOrNull(metric.read(row)) ?? Number.NEGATIVE_INFINITY;
  const largest = new Set(all.toSorted((one, other) => size(other) - size(one)).slice(0, most));
  return all.filter((row) => largest.has(row));
}
