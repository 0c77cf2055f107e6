import type { Metric } from '../contract/catalog.ts';
import type { ReportRequest, ReportResponse } from '../contract/report.ts';
import { bucketsOf, type Days, previousPeriod } from '../plan/buckets.ts';
import type { Row } from './dataset.ts';

type Figures = Readonly<Record<string, number | null>>;

interface Answer {
  readonly request: ReportRequest;
  readonly response: Pick<ReportResponse, 'meta'>;
}

/** The days that an answer compares with, by the service's reckoning where it does not say them; undefined: nothing is compared. */
export function comparedDays({ request: { time }, response: { meta } }: Answer): Days | undefined {
  if (meta.compare_range != null) return meta.compare_range;
  if (time?.compare === undefined) return undefined;
  const { from, to } = meta.range ?? time;
  return from === undefined || to === undefined ? undefined : previousPeriod({ from, to });
}

/** The metric's first day with data, where days begin before it that are asked for; undefined where all of them have data. */
export function dataAfter(metric: Metric, from: string): string | undefined {
  const first = metric.data_available?.from;
  return first == null || first <= from ? undefined : first;
}

/**
 * Compared figures without those that begin before the metric has data: the service answers 0 for days on which nobody
 * counted, and a change from that zero is no change.
 * @param metrics of the table
 */
export function withoutComparisonBeforeData(answer: Answer, metrics: readonly Metric[]) {
  const days = comparedDays(answer);
  const { time } = answer.request;
  const own = answer.response.meta.range;
  const partners = days === undefined || time?.granularity === undefined ? [] : bucketsOf(days, time.granularity);
  const labels = own == null || partners.length === 0 ? [] : bucketsOf(own, time?.granularity);
  const froms = new Map(labels.map(({ label }, index) => [label, partners[index]?.from]));
  const defined = (figures: Figures, from: string | undefined): Figures => {
    if (from === undefined) return figures;
    const before = metrics.filter(({ id }) => id in figures).filter((metric) => dataAfter(metric, from) !== undefined);
    return before.length === 0 ? figures : { ...figures, ...Object.fromEntries(before.map(({ id }) => [id, null])) };
  };
  return {
    /** The figures beside a row. */
    ofRow: (figures: Figures, bucket: Row['values'][string] | undefined): Figures =>
      defined(figures, (typeof bucket === 'string' ? froms.get(bucket) : undefined) ?? days?.from),
    ofTotals: (figures: Figures): Figures => defined(figures, days?.from),
  };
}
