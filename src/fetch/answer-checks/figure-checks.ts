import { isCurrentCount, type Metric } from '../../contract/catalog.ts';
import { truncateId } from '../client/untrusted-input.ts';
import type { WrongFigure } from '../dataset.ts';
import type { TableNote } from '../notes.ts';
import { type CallAnswer, type CheckedAnswer, incompleteNote, readBucket, readGroup } from './checked-answer.ts';

/** A column whose unit differs from the catalog's. */
export interface UnitMismatch {
  readonly id: string;
  readonly label: string;
  readonly expected: string;
  readonly got: string;
}

/**
 * Metrics for which any response has another unit than the catalog, each once. A missing unit on either side is not a
 * mismatch.
 */
export function unitMismatches(
  answers: readonly Pick<CallAnswer, 'response'>[],
  metrics: readonly Metric[],
): UnitMismatch[] {
  return metrics.flatMap(({ id, label, unit }) => {
    const other = answers
      .flatMap(({ response }) => response.columns)
      .find((column) => column.name === id && column.unit != null && column.unit !== unit);
    return other?.unit == null || unit === null ? [] : [{ id, label, expected: unit, got: truncateId(other.unit) }];
  });
}

export function unitFindings(mismatches: readonly UnitMismatch[]): TableNote[] {
  if (mismatches.length === 0) return [];
  const columns = mismatches.map(({ label, expected, got }) => ({ label, expected, got }));
  return [incompleteNote('unit_mismatch', { id: 'unit_mismatch', of: { columns } })];
}

/** One value of a response. */
interface CheckedFigure {
  readonly metric: Metric;
  readonly value: unknown;
  readonly bucket: string | null;
  /** Absent for values of the previous period. */
  readonly at?: Exclude<WrongFigure['at'], 'column'>;
  /** Null is a valid value here: there may be nothing to compare with. */
  readonly mayBeNull: boolean;
}

/** Yields every value of the table's metrics in a response: rows and totals, current and previous period. */
function* figuresToCheck(checked: CheckedAnswer): Generator<CheckedFigure> {
  const { request, response, metrics, buckets, previous } = checked;
  const indexByLabel = new Map(buckets.map((label, index) => [label, index]));
  const { totals } = response;
  for (const metric of metrics) {
    // A current count has no previous period.
    const current = isCurrentCount(metric);
    for (const row of response.rows) {
      const bucket = readBucket(checked, row) ?? null;
      const at = { bucket, group: readGroup(row, request.dimensions) };
      yield { metric, value: row[metric.id], bucket, at, mayBeNull: false };
      if (row.compare == null) continue;
      // The previous period may have fewer buckets. The last buckets then have nothing to compare with.
      const unmatched = (indexByLabel.get(bucket) ?? 0) >= (previous?.buckets ?? 0);
      yield { metric, value: row.compare[metric.id], bucket, mayBeNull: current || unmatched };
    }
    yield { metric, value: totals?.[metric.id], bucket: null, at: 'totals', mayBeNull: false };
    yield { metric, value: totals?.compare?.[metric.id], bucket: null, mayBeNull: current };
  }
}

/** Whether the metric counts events. A median of counts does not: it may be undefined or fractional. */
export const isCounted = ({ unit, aggregation }: Metric): boolean =>
  unit === 'count' && !/^p\d+$|median|mean|average|avg/i.test(aggregation);

/** Whether a value is valid for its unit (specification §2.4 and §2.8, rule 3); true for unknown units. */
export function isPossible(value: number, metric: Metric): boolean {
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
 * The figures of these responses that are invalid, and counts without a value. Figures of the previous period are not
 * included.
 */
export const invalidFigures = (answers: readonly CheckedAnswer[]): WrongFigure[] =>
  answers.flatMap((answer) =>
    [...figuresToCheck(answer)].flatMap(({ metric, value, at }): WrongFigure[] => {
      const isInvalid = typeof value === 'number' ? !isPossible(value, metric) : value === null && isCounted(metric);
      return at !== undefined && isInvalid ? [{ metric: metric.id, at }] : [];
    }),
  );

/**
 * Notes on invalid values: a rate outside 0–1, a negative or fractional count, a negative duration, or a null count.
 * Only rates and medians may be null (specification §2.8, rule 2).
 */
export function figureFindings(answers: readonly CheckedAnswer[]): TableNote[] {
  let invalid = 0;
  let nulls = 0;
  let firstInvalid: { readonly label: string; readonly value: number; readonly bucket: string | null } | undefined;
  let firstNull: { readonly label: string; readonly bucket: string | null } | undefined;
  for (const answer of answers) {
    for (const { metric, value, bucket, mayBeNull } of figuresToCheck(answer)) {
      const { label } = metric;
      if (typeof value === 'number' && !isPossible(value, metric)) {
        invalid += 1;
        firstInvalid ??= { label, value, bucket };
      } else if (value === null && isCounted(metric) && !mayBeNull) {
        nulls += 1;
        firstNull ??= { label, bucket };
      }
    }
  }
  return [
    ...(firstInvalid === undefined
      ? []
      : [incompleteNote('invalid_value', { id: 'invalid_value', of: { figures: invalid, ...firstInvalid } })]),
    ...(firstNull === undefined
      ? []
      : [incompleteNote('null_count', { id: 'null_count', of: { figures: nulls, ...firstNull } })]),
  ];
}
