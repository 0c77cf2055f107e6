import type { Granularity } from '../../contract/report.ts';
import type { Table } from '../../fetch/dataset.ts';
import { iterateRows } from '../../fetch/rows.ts';
import { type Bucket, buildBuckets } from '../../plan/buckets.ts';
import { isClipped } from './whole-period.ts';

/** The points of each metric, in order of time, for a table with one row per bucket. */
export type TableBuckets = ReturnType<typeof tableBuckets>;

/** Reads a table's buckets. Buckets in the range without a row are included with null, so that a gap is visible. */
export function tableBuckets(table: Table, granularity: Granularity) {
  const { rows, range } = table;
  const byBucket = new Map(
    [...iterateRows(rows)].flatMap((row) =>
      typeof row.values.bucket === 'string' ? [[row.values.bucket, row] as const] : [],
    ),
  );
  const expected = range === null ? [] : buildBuckets(range, granularity).map(({ label }: Bucket) => label);
  const labels = [...new Set([...expected, ...byBucket.keys()])].sort();
  return {
    buckets: labels.map((bucket) => {
      const running = byBucket.get(bucket)?.partial === true;
      const clipped = isClipped(table, bucket, granularity);
      return { bucket, partial: running || clipped, running, clipped };
    }),
    /** One value per bucket. */
    valuesOf: (metric: string): (number | null)[] =>
      labels.map((bucket) => {
        const value = byBucket.get(bucket)?.values[metric];
        return typeof value === 'number' ? value : null;
      }),
    /** The numbers of cases behind the values; null if unknown. */
    casesOf: (metric: string): (number | null)[] =>
      labels.map((bucket) => byBucket.get(bucket)?.cases?.[metric] ?? null),
  };
}
