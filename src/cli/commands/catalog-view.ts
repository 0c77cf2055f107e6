import { type Catalog, type Dimension, isAdditive, isCurrentCount, type Metric } from '../../contract/catalog.ts';

/** A metric as `docket catalog --json` shows it. */
export interface MetricView {
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly unit: string | null;
  /** Whether it counts the current state, without a history at the service. */
  readonly current: boolean;
  /** The first day with data. Null if unknown, or for a current count. */
  readonly history_from: string | null;
  readonly granularities: readonly string[];
  /** The dimensions to group and filter by. */
  readonly dimensions: readonly string[];
  /** Whether values of several days can be added up. */
  readonly additive: boolean;
  readonly counted_at: string;
  readonly aggregation: string;
  readonly deprecated_at: string | null;
  readonly replaced_by: string | null;
}

export interface CatalogView {
  readonly registry_version: number;
  readonly limits: { readonly max_range_days: number; readonly max_dimensions: number; readonly max_rows: number };
  readonly metrics: readonly MetricView[];
  readonly dimensions: readonly Pick<Dimension, 'id' | 'label' | 'description' | 'values'>[];
  /** Lists that a section can export instead of metrics. The catalog does not name them. */
  readonly lists: readonly string[];
}

const metricView = (metric: Metric): MetricView => {
  const current = isCurrentCount(metric);
  return {
    id: metric.id,
    label: metric.label,
    description: metric.description,
    unit: metric.unit,
    current,
    history_from: current ? null : (metric.data_available?.from ?? null),
    granularities: metric.granularities,
    dimensions: metric.dimensions,
    additive: isAdditive(metric),
    counted_at: metric.time_field,
    aggregation: metric.aggregation,
    deprecated_at: metric.deprecated_at ?? null,
    replaced_by: metric.replaced_by ?? null,
  };
};

/** The values of `list` in a section. */
const LISTS = ['profiles'] as const;

export function catalogView({ registry_version, limits, metrics, dimensions }: Catalog): CatalogView {
  const { max_range_days, max_dimensions, max_rows } = limits;
  return {
    registry_version,
    limits: { max_range_days, max_dimensions, max_rows },
    metrics: metrics.map(metricView),
    dimensions: dimensions.map(({ id, label, description, values }) => ({
      id,
      label,
      description,
      values: values.map(({ value, label: name }) => ({ value, label: name })),
    })),
    lists: LISTS,
  };
}

/**
 * The metrics, dimensions and lists that contain every word. Searches ids, labels, descriptions, units and dimensions.
 */
export function searchCatalog(view: CatalogView, words: readonly string[]): CatalogView {
  const wanted = words.map((word) => word.toLowerCase());
  const hasAll = (...texts: readonly (string | null)[]): boolean => {
    const text = texts.join('\n').toLowerCase();
    return wanted.every((word) => text.includes(word));
  };
  return {
    ...view,
    metrics: view.metrics.filter((metric) =>
      hasAll(
        metric.id,
        metric.label,
        metric.description,
        metric.unit,
        metric.current ? 'now current' : '',
        metric.deprecated_at === null ? '' : 'deprecated',
        ...metric.dimensions,
      ),
    ),
    dimensions: view.dimensions.filter(({ id, label, description, values }) =>
      hasAll(id, label, description, ...values.flatMap(({ value, label: name }) => [value, name])),
    ),
    lists: view.lists.filter((list) => hasAll(list)),
  };
}
