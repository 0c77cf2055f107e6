import type { Catalog, Metric } from '../../../contract/catalog.ts';
import type { Period } from '../../../definitions/periods/period.ts';
import { isReadingDue } from '../../../plan/answered-sections.ts';
import { type Bucket, buildBuckets, endOfDay } from '../../../plan/buckets.ts';
import { questionId } from '../../../plan/reading.ts';
import { trendSpan } from '../../../plan/trend.ts';
import type { MetricValues, TableTrend, TrendReading } from '../../dataset.ts';
import { type PartnerAnswer, partnerRows } from './comparisons/partner-answers.ts';
import { withoutValuesOfNoData } from './data-start.ts';
import { dayReadings, groupValues } from './readings/reading-values.ts';
import type { ReadingsSource } from './readings/readings-table.ts';

/** Values and state of one bucket of a trend. */
interface TrendBucket {
  readonly bucket: Bucket;
  readonly values: MetricValues;
  readonly partial: boolean;
}

const toTrend = (
  granularity: TableTrend['granularity'],
  buckets: readonly TrendBucket[],
  metrics: readonly string[],
): TableTrend => ({
  granularity,
  buckets: buckets.map(({ bucket: { label }, partial }) => ({ label, partial })),
  values: Object.fromEntries(metrics.map((id) => [id, buckets.map(({ values }) => values[id] ?? null)])),
});

/**
 * Builds the trend of a section from its partner's response; undefined if there is none. A value is null before the
 * metric's first day with data, and if the response lacks it.
 * @param asOf epoch ms at which the figures were computed
 */
export function answeredTrend(
  partners: readonly PartnerAnswer[],
  metrics: readonly Metric[],
  catalog: Catalog,
  { timezone, asOf }: { readonly timezone: string; readonly asOf: number },
): TableTrend | undefined {
  const partner = partners.find(({ kind }) => kind === 'trend');
  const granularity = partner?.request.time?.granularity;
  if (partner === undefined || granularity === undefined) return undefined;
  const names = metrics.map(({ id }) => id);
  const lookUp = partnerRows(partner, catalog);
  const running = new Set(partner.response.rows.flatMap(({ bucket, partial }) => (partial === true ? bucket : [])));
  const buckets = buildBuckets(partner.range, granularity).map(
    (bucket): TrendBucket => ({
      bucket,
      values: withoutValuesOfNoData(lookUp({}, bucket.label, names), bucket, metrics),
      partial: running.has(bucket.label) || endOfDay(bucket.to, timezone) > asOf,
    }),
  );
  return toTrend(granularity, buckets, names);
}

export interface ReadTrendInput {
  /** The organization's id in Docket. */
  readonly org: string;
  readonly metrics: readonly string[];
  readonly period: Period;
  /** Number of points. */
  readonly trend: number;
  readonly readings: ReadingsSource;
  /** Epoch ms; readings after it are not due yet. */
  readonly now: number;
}

/**
 * Builds the trend of current counts: each bucket has the reading of its last day. A day without a reading is a gap.
 */
export async function readTrend(input: ReadTrendInput): Promise<TableTrend> {
  const { org, metrics, period, readings, now } = input;
  const { granularity, range } = trendSpan(period, input.trend);
  const buckets = buildBuckets(range, granularity);
  const days = buckets.map(({ to }) => to);
  const found = dayReadings(questionId(null), await readings.find(org, null, days), metrics, period.timezone);
  const trend = toTrend(
    granularity,
    buckets.map((bucket): TrendBucket => {
      const day = found.of(bucket.to);
      const isComing = day === undefined && !isReadingDue(bucket.to, readings, now);
      return { bucket, values: groupValues(day, null, metrics), partial: isComing };
    }),
    metrics,
  );
  return {
    ...trend,
    readings: buckets.map(({ label, to }): TrendReading => {
      const reading = found.of(to)?.reading;
      return {
        bucket: label,
        day: to,
        question: found.question,
        asOf: reading?.as_of ?? null,
        correlationId: reading?.correlation_id ?? null,
      };
    }),
  };
}
