import type { Metric } from '../../../contract/catalog.ts';
import type { DateRange } from '../../../plan/buckets.ts';

/** The metric's first day with data if it is after `from`. */
export function dataStartsAfter(metric: Metric, from: string): string | undefined {
  const first = metric.data_available?.from;
  return first == null || first <= from ? undefined : first;
}

type Figures = Readonly<Record<string, unknown>>;

function withNulls<Values extends Figures>(
  values: Values,
  metrics: readonly Metric[],
): Values | (Values & Record<string, null>) {
  const without = metrics.filter(({ id }) => id in values);
  return without.length === 0 ? values : { ...values, ...Object.fromEntries(without.map(({ id }) => [id, null])) };
}

/**
 * Replaces values by null if the metric has no data on the first of these days: the service returns 0 for such days,
 * and a change from that zero would be wrong.
 * @param metrics the metrics of the table
 */
export const withoutValuesBeforeData = <Values extends Figures>(
  values: Values,
  from: string,
  metrics: readonly Metric[],
) =>
  withNulls(
    values,
    metrics.filter((metric) => dataStartsAfter(metric, from) !== undefined),
  );

/** Replaces values by null if the metric's data begins after all of these days: the service returns 0. */
export const withoutValuesOfNoData = <Values extends Figures>(
  values: Values,
  { to }: Pick<DateRange, 'to'>,
  metrics: readonly Metric[],
) => withoutValuesBeforeData(values, to, metrics);
