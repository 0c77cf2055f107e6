import type { Catalog, Dimension } from '../../../../contract/catalog.ts';
import type { ReportResponse } from '../../../../contract/report.ts';
import { type DurationUnit, durationUnitFor, toMeasure } from '../../../../definitions/schema/values/units.ts';
import type { Replacement } from '../../../../plan/plan.ts';
import { type Column, isDuration, type MetricValues, type Table } from '../../../dataset.ts';
import { iterateRows } from '../../../rows.ts';

type Figures = Pick<NonNullable<Table['totals']>, 'compare' | 'toDate'> & {
  readonly values: Readonly<Record<string, unknown>>;
};

/** The size of a metric's largest figure among current, compared and to-date ones; undefined if it has none. */
function findLargest({ values, compare, toDate }: Figures, metric: string): number | undefined {
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
    if (size !== undefined) to.set(toMeasure(name), Math.max(size, to.get(toMeasure(name)) ?? 0));
  };
  for (const table of tables) {
    const durations = table.columns.filter(isDuration);
    if (durations.length === 0) continue;
    const total = table.totals;
    if (total !== undefined) for (const column of durations) add(totals, column, findLargest(total, column.name));
    // The only row of a section without buckets and groups is its total.
    const single = table.columns.every(({ kind }) => kind === 'metric');
    for (const row of iterateRows(table.rows)) {
      for (const column of durations) add(single ? totals : rows, column, findLargest(row, column.name));
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
  const ownUnits = new Map([...units].map(([metric, unit]) => [toMeasure(metric), unit]));
  const largest = largestByMeasure(tables);
  const selectUnit = (metric: string): DurationUnit => {
    const measure = toMeasure(metric);
    const size = largest.totals.get(measure) ?? largest.rows.get(measure);
    return ownUnits.get(measure) ?? (size === undefined ? 'hours' : durationUnitFor(size));
  };
  return tables.map((table) => ({
    ...table,
    columns: table.columns.map((column) =>
      isDuration(column) ? { ...column, shownIn: selectUnit(column.name) } : column,
    ),
  }));
}

/** Names by id, from a report's `labels`. A map, because the ids come from outside. */
type DisplayNames = ReadonlyMap<string, string>;

/** Looks up what a report sets for a metric id, also under the id of the metric that replaces it. */
export function byMetric<Said>(
  said: Readonly<Record<string, Said>> | undefined,
  sections: readonly { readonly replaced?: readonly Replacement[] }[],
): ReadonlyMap<string, Said> {
  const all = new Map(Object.entries(said ?? {}));
  for (const { from, to } of sections.flatMap(({ replaced = [] }) => replaced)) {
    const value = all.get(from);
    if (value !== undefined && !all.has(to)) all.set(to, value);
  }
  return all;
}

const renamed = <Named extends { readonly label: string }>(named: Named, id: string, names: DisplayNames): Named => {
  const label = names.get(id);
  return label === undefined ? named : { ...named, label };
};

/** Puts a report's names of metrics, dimensions and their values into the catalog. */
export function renamedCatalog(catalog: Catalog, names: DisplayNames): Catalog {
  if (names.size === 0) return catalog;
  return {
    ...catalog,
    metrics: catalog.metrics.map((metric) => renamed(metric, metric.id, names)),
    dimensions: catalog.dimensions.map((dimension): Dimension => {
      const values = dimension.values.map((each) => renamed(each, each.value, names));
      return { ...renamed(dimension, dimension.id, names), values };
    }),
  };
}

/** Gives the bucket column of a table the name that the report sets for it. */
export const renamedBucket = (table: Table, names: DisplayNames): Table => ({
  ...table,
  columns: table.columns.map((column) => (column.kind === 'time' ? renamed(column, 'bucket', names) : column)),
});

/** Gives the bucket column of a response the report's name. The other columns get their names from the catalog. */
export function renamedResponse(response: ReportResponse, names: DisplayNames): ReportResponse {
  if (!names.has('bucket')) return response;
  const rename = (column: ReportResponse['columns'][number]) =>
    column.name === 'bucket' ? renamed(column, column.name, names) : column;
  return { ...response, columns: response.columns.map(rename) };
}
