import type { ComparisonKind } from '../../../definitions/schema/comparison.ts';
import type { TotalsComparison, UnlikeReason } from '../../../plan/like-for-like.ts';
import type { ComparedFigures, Comparisons, MetricValues } from '../../dataset.ts';

export const comparedFigures = (values: MetricValues, unlike: UnlikeReason | undefined): ComparedFigures => ({
  values,
  ...(unlike === undefined ? {} : { unlike }),
});

/** Of totals, and of rows without a bucket. */
export const comparedTotals = (values: MetricValues, likeness: TotalsComparison): ComparedFigures =>
  comparedFigures(values, likeness.compared ? undefined : likeness.unlike);

/** The figures of all comparisons; undefined if none has any. */
export function comparisonsOf<Comparer extends { readonly comparison: { readonly kind: ComparisonKind } }>(
  comparers: readonly Comparer[],
  figures: (comparer: Comparer) => ComparedFigures | undefined,
): Comparisons | undefined {
  const found = comparers.flatMap((comparer) => {
    const compared = figures(comparer);
    return compared === undefined ? [] : [[comparer.comparison.kind, compared] as const];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}
