import type { Metric } from '../../contract/catalog.ts';
import type { MetricValues } from '../dataset.ts';

/** The metric's first day with data if it is after `from`. */
export function dataStartsAfter(metric: Metric, from: string): string | undefined {
  const first = metric.data_available?.from;
  return first == null || first <= from ? undefined : first;
}

/**
 * Replaces the values of metrics that have no data on the first of these days by null: the service returns 0 for such
 * days, and a change from that zero is none.
 * @param metrics of the table
 */
export function withoutValuesBeforeData(values: MetricValues, from: string, metrics: readonly Metric[]): MetricValues {
  const before = metrics.filter((metric) => metric.id in values && dataStartsAfter(metric, from) !== undefined);
  return before.length === 0 ? values : { ...values, ...Object.fromEntries(before.map(({ id }) => [id, null])) };
}
