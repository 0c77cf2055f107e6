import { type Catalog, isCurrentCount, type Metric } from '../contract/catalog.ts';
import type { Granularity, ReportRequest } from '../contract/report.ts';
import { civilDate } from '../definitions/periods/period.ts';
import type { DateRange } from './buckets.ts';

/** The days of a scorecard's small charts, and the size of their points. */
export interface TrendSpan {
  readonly granularity: Granularity;
  /** Whole buckets; the last one ends with the period. */
  readonly range: DateRange;
}

// Civil dates are computed in UTC, where every day exists and has 24 hours.

/** The largest of the service's buckets that the period consists of: calendar months, weeks from Monday, or days. */
function selectGranularity({ from, to }: DateRange): Granularity {
  const first = civilDate(from);
  const last = civilDate(to);
  if (first.day === 1 && last.plus({ days: 1 }).day === 1) return 'month';
  return first.weekday === 1 && last.weekday === 7 ? 'week' : 'day';
}

/** The days of a trend: as many buckets as it has points, the last one ending with the period. */
export function trendSpan({ from, to }: DateRange, points: number): TrendSpan {
  const granularity = selectGranularity({ from, to });
  const first = civilDate(to)
    .startOf(granularity)
    .minus({ [granularity]: points - 1 });
  return { granularity, range: { from: first.toFormat('yyyy-MM-dd'), to } };
}

/** Whether the service provides the metric by buckets of this size. */
export const hasTrend = (metric: Metric, granularity: Granularity): boolean =>
  !isCurrentCount(metric) && metric.granularities.includes(granularity);

/**
 * The request for a scorecard's trend; undefined if none of its metrics has one.
 * @param own the scorecard's own request
 */
export function trendRequest(
  own: ReportRequest,
  { granularity, range }: TrendSpan,
  catalog: Catalog,
): ReportRequest | undefined {
  const { order: _order, limit: _limit, include: _include, ...body } = own;
  const { compare: _compare, ...time } = own.time ?? {};
  const metrics = own.metrics.filter((id) =>
    catalog.metrics.some((metric) => metric.id === id && hasTrend(metric, granularity)),
  );
  return metrics.length === 0 ? undefined : { ...body, metrics, time: { ...time, ...range, granularity } };
}
