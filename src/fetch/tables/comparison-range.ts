import type { Metric } from '../../contract/catalog.ts';
import type { ReportRequest, ReportResponse } from '../../contract/report.ts';
import { bucketsOf, type DateRange, previousPeriod } from '../../plan/buckets.ts';
import type { Row } from '../dataset.ts';

type Values = Readonly<Record<string, number | null>>;

interface AnsweredRequest {
  readonly request: ReportRequest;
  readonly response: Pick<ReportResponse, 'meta'>;
}

/** The days that a response compares with, computed like the service if it does not report them; undefined without comparison. */
export function comparisonRange({ request: { time }, response: { meta } }: AnsweredRequest): DateRange | undefined {
  if (meta.compare_range != null) return meta.compare_range;
  if (time?.compare === undefined) return undefined;
  const { from, to } = meta.range ?? time;
  return from === undefined || to === undefined ? undefined : previousPeriod({ from, to });
}

/** The metric's first day with data if it is after `from`. */
export function dataStartsAfter(metric: Metric, from: string): string | undefined {
  const first = metric.data_available?.from;
  return first == null || first <= from ? undefined : first;
}

/**
 * Removes compared values that begin before the metric has data: the service returns 0 for such days, and a change from
 * that zero is none.
 * @param metrics of the table
 */
export function withoutComparisonBeforeData(answer: AnsweredRequest, metrics: readonly Metric[]) {
  const days = comparisonRange(answer);
  const { time } = answer.request;
  const range = answer.response.meta.range;
  const previousBuckets =
    days === undefined || time?.granularity === undefined ? [] : bucketsOf(days, time.granularity);
  const buckets = range == null || previousBuckets.length === 0 ? [] : bucketsOf(range, time?.granularity);
  const startByLabel = new Map(buckets.map(({ label }, index) => [label, previousBuckets[index]?.from]));
  const defined = (values: Values, from: string | undefined): Values => {
    if (from === undefined) return values;
    const before = metrics
      .filter(({ id }) => id in values)
      .filter((metric) => dataStartsAfter(metric, from) !== undefined);
    return before.length === 0 ? values : { ...values, ...Object.fromEntries(before.map(({ id }) => [id, null])) };
  };
  return {
    /** The compared values of a row. */
    ofRow: (values: Values, bucket: Row['values'][string] | undefined): Values =>
      defined(values, (typeof bucket === 'string' ? startByLabel.get(bucket) : undefined) ?? days?.from),
    ofTotals: (values: Values): Values => defined(values, days?.from),
  };
}
