import { isCurrentCount, type Metric } from '../../contract/catalog.ts';
import { clipName } from '../clip.ts';
import type { TableNote } from '../dataset.ts';
import { bucketOf, type CallAnswer, type Checked, finding } from './answer.ts';

/** A column whose unit is not the catalog's. */
export interface UnitMismatch {
  readonly id: string;
  readonly label: string;
  readonly expected: string;
  readonly got: string;
}

/**
 * The metrics that any answer gives in another unit than the catalog's, each once. An answer that names no unit, or a
 * catalog that knows none, contradicts nothing.
 */
export function unitMismatches(
  answers: readonly Pick<CallAnswer, 'response'>[],
  metrics: readonly Metric[],
): UnitMismatch[] {
  return metrics.flatMap(({ id, label, unit }) => {
    const other = answers
      .flatMap(({ response }) => response.columns)
      .find((column) => column.name === id && column.unit != null && column.unit !== unit);
    return other?.unit == null || unit === null ? [] : [{ id, label, expected: unit, got: clipName(other.unit) }];
  });
}

export function unitFindings(mismatches: readonly UnitMismatch[]): TableNote[] {
  if (mismatches.length === 0) return [];
  const columns = mismatches.map(({ label, expected, got }) => ({ label, expected, got }));
  return [finding('unit_mismatch', { id: 'unit_mismatch', of: { columns } })];
}

/** One figure of an answer. */
interface Figure {
  readonly metric: Metric;
  readonly value: unknown;
  readonly bucket: string | null;
  /** Null may mean that there is nothing to compare with. */
  readonly mayLack: boolean;
}

/** Every figure of the table's metrics in an answer: of rows and totals, of both periods. */
function* figuresOf(checked: Checked): Generator<Figure> {
  const { response, metrics, buckets, previous } = checked;
  const places = new Map(buckets.map((label, index) => [label, index]));
  const { totals } = response;
  for (const metric of metrics) {
    // A current count has nothing before it to be compared with.
    const current = isCurrentCount(metric);
    for (const row of response.rows) {
      const bucket = bucketOf(checked, row) ?? null;
      yield { metric, value: row[metric.id], bucket, mayLack: false };
      if (row.compare == null) continue;
      // The previous period may have fewer buckets: the last ones then have none that matches.
      const unmatched = (places.get(bucket) ?? 0) >= (previous?.buckets ?? 0);
      yield { metric, value: row.compare[metric.id], bucket, mayLack: current || unmatched };
    }
    yield { metric, value: totals?.[metric.id], bucket: null, mayLack: false };
    yield { metric, value: totals?.compare?.[metric.id], bucket: null, mayLack: current };
  }
}

/** A count that says how often something happened: a median of counts may be undefined, or lie between two of them. */
const isCounted = ({ unit, aggregation }: Metric): boolean =>
  unit === 'count' && !/^p\d+$|median|mean|average|avg/i.test(aggregation);

/** Whether a figure can be of this unit (specification §2.4 and §2.8, rule 3); of others we know nothing. */
function fits(value: number, metric: Metric): boolean {
  switch (metric.unit) {
    case 'count':
      return value >= 0 && (Number.isSafeInteger(value) || !isCounted(metric));
    case 'ratio':
      return value >= 0 && value <= 1;
    case 'seconds':
      return value >= 0;
    default:
      return true;
  }
}

/**
 * Figures that cannot be: a rate outside 0–1, a count that is negative or fractional, a negative duration; and counts
 * that are null, which only rates and medians can be (specification §2.8, rule 2).
 */
export function figureFindings(answers: readonly Checked[]): TableNote[] {
  let invalid = 0;
  let nulls = 0;
  let firstInvalid: { readonly label: string; readonly value: number; readonly bucket: string | null } | undefined;
  let firstNull: { readonly label: string; readonly bucket: string | null } | undefined;
  for (const answer of answers) {
    for (const { metric, value, bucket, mayLack } of figuresOf(answer)) {
      const { label } = metric;
      if (typeof value === 'number' && !fits(value, metric)) {
        invalid += 1;
        firstInvalid ??= { label, value, bucket };
      } else if (value === null && isCounted(metric) && !mayLack) {
        nulls += 1;
        firstNull ??= { label, bucket };
      }
    }
  }
  return [
    ...(firstInvalid === undefined
      ? []
      : [finding('invalid_value', { id: 'invalid_value', of: { figures: invalid, ...firstInvalid } })]),
    ...(firstNull === undefined
      ? []
      : [finding('null_count', { id: 'null_count', of: { figures: nulls, ...firstNull } })]),
  ];
}
