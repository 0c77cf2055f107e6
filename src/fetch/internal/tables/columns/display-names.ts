import type { Catalog, Dimension } from '../../../../contract/catalog.ts';
import type { ReportResponse } from '../../../../contract/report.ts';
import type { Replacement } from '../../../../plan/plan.ts';
import type { Table } from '../../../dataset.ts';

/** Names by id, from a report's `labels`. A map, because the ids come from outside. */
export type DisplayNames = ReadonlyMap<string, string>;

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

/** Puts a report's name for the bucket into a table. */
export const renamedBucket = (table: Table, names: DisplayNames): Table => ({
  ...table,
  columns: table.columns.map((column) => (column.kind === 'time' ? renamed(column, 'bucket', names) : column)),
});

/** Puts a report's name for the bucket into a response. The other columns get their names from the catalog. */
export function renamedResponse(response: ReportResponse, names: DisplayNames): ReportResponse {
  if (!names.has('bucket')) return response;
  const rename = (column: ReportResponse['columns'][number]) =>
    column.name === 'bucket' ? renamed(column, column.name, names) : column;
  return { ...response, columns: response.columns.map(rename) };
}
