import type { Granularity } from '../../../contract/report.ts';
import type { FiscalCalendar } from '../../../definitions/periods/fiscal-calendar.ts';
import type { ComparisonKind } from '../../../definitions/schema/comparison.ts';
import { type Bucket, bucketsOf, type DateRange, dayCount } from '../../../plan/buckets.ts';
import {
  type ComparisonContext,
  compareTotals,
  partnerOf,
  type TotalsComparison,
  type UnlikeReason,
  unlikeRow,
  yearBefore,
  yearBeforeRange,
} from '../../../plan/like-for-like.ts';
import type { ComparedFigures, Comparisons, MetricValues, TableComparison } from '../../dataset.ts';
import type { NotedComparison } from '../comparisons/comparison-notes.ts';

/** The days that a table of readings is compared with: the reading of the last day of each partner is its value. */
export interface PartnerDays extends NotedComparison {
  readonly comparison: TableComparison;
  /** The partner of each bucket, or of the whole range. */
  readonly buckets: readonly (Bucket | undefined)[];
  readonly unlikeRows: readonly (UnlikeReason | undefined)[];
}

interface PartnerInput {
  readonly range: DateRange;
  readonly buckets: readonly Bucket[];
  readonly granularity: Granularity | undefined;
  readonly timezone: string;
  readonly calendar: FiscalCalendar;
  /** Whether the reading of a day is stored, or its hour is over. */
  readonly isSettled: (day: string) => boolean;
}

export function partnerDays(
  kind: ComparisonKind,
  { range, buckets, granularity, timezone, calendar, isSettled }: PartnerInput,
): PartnerDays {
  const days = partnerOf(range, kind, calendar);
  // A reading is final before its day has ended: `isSettled` tells instead.
  const context: ComparisonContext = { timezone, asOf: Number.POSITIVE_INFINITY, calendar };
  const likeness: TotalsComparison = isSettled(range.to)
    ? compareTotals(range, days, context)
    : { compared: false, unlike: 'unfinished' };
  const lengths = days === undefined ? undefined : ([dayCount(range), dayCount(days)] as const);
  const partner = {
    likeness,
    days: lengths === undefined || lengths[0] === lengths[1] ? null : lengths,
    from: days?.from,
  };
  if (granularity === undefined) {
    const bucket = days === undefined ? undefined : { label: days.from, ...days };
    const unlike = likeness.compared ? undefined : likeness.unlike;
    return { ...partner, comparison: { kind, range: days ?? null }, buckets: [bucket], unlikeRows: [unlike] };
  }
  const previous = kind === 'previous_period' && days !== undefined ? bucketsOf(days, granularity) : [];
  const others = buckets.map((bucket, index) =>
    kind === 'previous_period' ? previous[index] : yearBefore(bucket, granularity),
  );
  const rowDays = kind === 'previous_year' ? (yearBeforeRange(buckets, granularity) ?? null) : (days ?? null);
  const sameDays = rowDays?.from === days?.from && rowDays?.to === days?.to;
  return {
    ...partner,
    comparison: { kind, range: days ?? null, ...(sameDays ? {} : { rows: rowDays }) },
    buckets: others,
    unlikeRows: buckets.map((bucket, index) =>
      isSettled(bucket.to) ? unlikeRow(bucket, others[index], granularity, context) : 'unfinished',
    ),
  };
}

/** The figures of all comparisons; empty without comparisons. */
export function comparisonsOf(
  partners: readonly PartnerDays[],
  figures: (partner: PartnerDays) => { readonly values: MetricValues; readonly unlike: UnlikeReason | undefined },
): { readonly compare?: Comparisons } {
  if (partners.length === 0) return {};
  const entries = partners.map((partner) => {
    const { values, unlike } = figures(partner);
    const compared: ComparedFigures = { values, ...(unlike === undefined ? {} : { unlike }) };
    return [partner.comparison.kind, compared] as const;
  });
  return { compare: Object.fromEntries(entries) };
}
