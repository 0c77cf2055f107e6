import type { Metric } from '../../contract/catalog.ts';
import { measureOf } from '../../definitions/schema/values/units.ts';
import type { WrongFigure } from '../dataset.ts';
import type { TableNote } from '../notes.ts';
import { bucketOf, type CheckedAnswer, groupOf, incompleteNote } from './checked-answer.ts';

/** A median that exceeds the 90th percentile of the same thing, in the same row or the totals. */
export interface WrongPair {
  readonly median: Metric;
  readonly p90: Metric;
  readonly bucket: string | null;
  readonly at: Exclude<WrongFigure['at'], 'column'>;
}

export function wrongPairs(answers: readonly CheckedAnswer[]): WrongPair[] {
  return answers.flatMap((answer): WrongPair[] => {
    const { metrics, request, response } = answer;
    const pairs = metrics.flatMap((median) => {
      const p90 = metrics.find(
        ({ id, aggregation }) => aggregation === 'p90' && measureOf(id) === measureOf(median.id),
      );
      return median.aggregation === 'p50' && p90 !== undefined ? [{ median, p90 }] : [];
    });
    if (pairs.length === 0) return [];
    const exceed = (values: Readonly<Record<string, unknown>>) =>
      pairs.filter(({ median, p90 }) => {
        const [half, most] = [values[median.id], values[p90.id]];
        return typeof half === 'number' && typeof most === 'number' && half > most;
      });
    const inRows = response.rows.flatMap((row) => {
      const bucket = bucketOf(answer, row) ?? null;
      return exceed(row).map((pair) => ({ ...pair, bucket, at: { bucket, group: groupOf(row, request.dimensions) } }));
    });
    const inTotals = exceed(response.totals ?? {}).map((pair) => ({ ...pair, bucket: null, at: 'totals' as const }));
    return [...inRows, ...inTotals];
  });
}

export function pairFindings(pairs: readonly WrongPair[]): TableNote[] {
  const [first] = pairs;
  if (first === undefined) return [];
  const { median, p90, bucket } = first;
  const of = { figures: pairs.length, label: median.label, other: p90.label, bucket };
  return [incompleteNote('invalid_value', { id: 'median_above_p90', of })];
}
