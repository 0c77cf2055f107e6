import type { Granularity } from '../../../contract/report.ts';
import type { Table } from '../../../fetch/dataset.ts';
import { iterateRows } from '../../../fetch/rows.ts';
import { type Bucket, bucketsOf } from '../../../plan/buckets.ts';
import { shortBucketFormatter } from '../../charts/chart-data.ts';
import type { ViewColumn } from '../../figures/columns.ts';
import { parseCivilDate, type Quantity } from '../../figures/quantity.ts';
import { isClipped } from '../../figures/whole-period.ts';
import type { TrendPoint } from '../pack.ts';
import type { PackContext } from '../pack-context.ts';

type RawPoint = Pick<TrendPoint, 'bucket' | 'value' | 'partial' | 'running' | 'clipped'>;

/** Adds the texts of points. */
export function labelPoints(
  points: readonly RawPoint[],
  quantity: Quantity,
  granularity: Granularity,
  { locale, format }: PackContext,
): TrendPoint[] {
  const labelOf = shortBucketFormatter(granularity, locale);
  return points.map((point) => {
    const day = parseCivilDate(point.bucket);
    return {
      ...point,
      label: day === undefined ? point.bucket : labelOf(day),
      text: format(point.value, quantity),
    };
  });
}

/** The points of a scorecard's metric; empty where the table has no trend of it. */
export function scorecardTrend({ trend }: Table, view: ViewColumn, context: PackContext): TrendPoint[] {
  const values = new Map(Object.entries(trend?.values ?? {})).get(view.source.name);
  if (trend === undefined || values === undefined) return [];
  const points = trend.buckets.map(({ label, partial }, index) => ({
    bucket: label,
    value: values[index] ?? null,
    partial,
    running: partial,
    clipped: false,
  }));
  return labelPoints(points, view.quantity, trend.granularity, context);
}

/** The points of each metric of a table with a row for each bucket, in order of time. */
export interface TableBuckets {
  readonly buckets: readonly Pick<TrendPoint, 'bucket' | 'partial' | 'running' | 'clipped'>[];
  /** One value per bucket. */
  readonly valuesOf: (metric: string) => (number | null)[];
}

/** Buckets of the range without a row are there, with null: a gap is not left out. */
export function tableBuckets(table: Table, granularity: Granularity): TableBuckets {
  const { rows, range } = table;
  const byBucket = new Map(
    [...iterateRows(rows)].flatMap((row) =>
      typeof row.values.bucket === 'string' ? [[row.values.bucket, row] as const] : [],
    ),
  );
  const expected = range === null ? [] : bucketsOf(range, granularity).map(({ label }: Bucket) => label);
  const labels = [...new Set([...expected, ...byBucket.keys()])].sort();
  return {
    buckets: labels.map((bucket) => {
      const running = byBucket.get(bucket)?.partial === true;
      const clipped = isClipped(table, bucket, granularity);
      return { bucket, partial: running || clipped, running, clipped };
    }),
    valuesOf: (metric) =>
      labels.map((bucket) => {
        const value = byBucket.get(bucket)?.values[metric];
        return typeof value === 'number' ? value : null;
      }),
  };
}

/** A small chart in words. */
export function describePoints(label: string, points: readonly TrendPoint[], { words }: PackContext): string {
  const known = points.filter(({ value }) => value !== null);
  const [first] = known;
  const last = known.at(-1);
  if (first === undefined || last === undefined) return words.pack.trendNone(label);
  return first === last ? words.pack.trendOne(label, first) : words.pack.trendText(label, first, last);
}
