import { type DurationUnit, durationUnitFor, measureOf } from '../../../../definitions/schema/values/units.ts';
import { type Column, isDuration, type MetricValues, type Table } from '../../../dataset.ts';
import { iterateRows } from '../../../rows.ts';

type Figures = Pick<NonNullable<Table['totals']>, 'compare' | 'toDate'> & {
  readonly values: Readonly<Record<string, unknown>>;
};

/** The size of a metric's largest figure among current, compared and to-date ones; undefined if it has none. */
function largestOf({ values, compare, toDate }: Figures, metric: string): number | undefined {
  const others: readonly (MetricValues | undefined)[] = [
    ...Object.values(compare ?? {}).map((compared) => compared?.values),
    toDate,
  ];
  const sizes = [values, ...others].flatMap((each) => {
    const value = each?.[metric];
    return typeof value === 'number' ? Math.abs(value) : [];
  });
  return sizes.length === 0 ? undefined : Math.max(...sizes);
}

/** For each measure, its largest total and the largest figure in its rows. */
function largestByMeasure(tables: readonly Table[]) {
  const totals = new Map<string, number>();
  const rows = new Map<string, number>();
  const add = (to: Map<string, number>, { name }: Column, size: number | undefined): void => {
    if (size !== undefined) to.set(measureOf(name), Math.max(size, to.get(measureOf(name)) ?? 0));
  };
  for (const table of tables) {
    const durations = table.columns.filter(isDuration);
    if (durations.length === 0) continue;
    const total = table.totals;
    if (total !== undefined) for (const column of durations) add(totals, column, largestOf(total, column.name));
    // The only row of a section without buckets and groups is its total.
    const single = table.columns.every(({ kind }) => kind === 'metric');
    for (const row of iterateRows(table.rows)) {
      for (const column of durations) add(single ? totals : rows, column, largestOf(row, column.name));
    }
  }
  return { totals, rows };
}

/**
 * Gives each duration one unit in all tables: the one that `units` sets for it or for another statistic of the same
 * measure, otherwise the one that fits its largest total, or its largest row if it has no totals. Values stay in
 * seconds. Pure.
 */
export function withDisplayUnits(
  tables: readonly Table[],
  units: ReadonlyMap<string, DurationUnit> = new Map(),
): readonly Table[] {
  if (!tables.some(({ columns }) => columns.some(isDuration))) return tables;
  const asked = new Map([...units].map(([metric, unit]) => [measureOf(metric), unit]));
  const largest = largestByMeasure(tables);
  const unitOf = (metric: string): DurationUnit => {
    const measure = measureOf(metric);
    const size = largest.totals.get(measure) ?? largest.rows.get(measure);
    return asked.get(measure) ?? (size === undefined ? 'hours' : durationUnitFor(size));
  };
  return tables.map((table) => ({
    ...table,
    columns: table.columns.map((column) => (isDuration(column) ? { ...column, shownIn: unitOf(column.name) } : column)),
  }));
}
