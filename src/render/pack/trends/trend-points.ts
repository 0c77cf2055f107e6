import type { Granularity } from '../../../contract/report.ts';
import type { Table } from '../../../fetch/dataset.ts';
import { shortBucketFormatter } from '../../charts/chart-data.ts';
import type { ViewColumn } from '../../figures/columns.ts';
import { type Boundaries, formatJudged } from '../../figures/format-value.ts';
import { parseCivilDate, type Quantity } from '../../figures/quantity.ts';
import type { TrendPoint } from '../pack.ts';
import type { PackContext } from '../pack-context.ts';

type RawPoint = Pick<TrendPoint, 'bucket' | 'value' | 'partial' | 'running' | 'clipped'>;

/** Adds texts to points. */
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

/**
 * The points of a scorecard's metric; empty if the table has no trend for it.
 * @param judged the target of its row, with which the points must also agree
 */
export function scorecardTrend(
  { trend }: Table,
  view: ViewColumn,
  context: PackContext,
  judged?: Boundaries,
): TrendPoint[] {
  const values = new Map(Object.entries(trend?.values ?? {})).get(view.source.name);
  if (trend === undefined || values === undefined) return [];
  const points = trend.buckets.map(({ label, partial }, index) => ({
    bucket: label,
    value: values[index] ?? null,
    partial,
    running: partial,
    clipped: false,
  }));
  return labelPoints(points, view.quantity, trend.granularity, context).map((point) =>
    judged === undefined || point.value === null
      ? point
      : { ...point, text: formatJudged(point.value, judged, view.quantity, context.locale) },
  );
}

/** A small chart in words, for readers who cannot see it. */
export function describePoints(label: string, points: readonly TrendPoint[], { words }: PackContext): string {
  const known = points.filter(({ value }) => value !== null);
  const [first] = known;
  const last = known.at(-1);
  if (first === undefined || last === undefined) return words.pack.trendNone(label);
  return first === last ? words.pack.trendOne(label, first) : words.pack.trendText(label, first, last);
}
