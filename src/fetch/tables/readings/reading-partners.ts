import type { Granularity } from '../../../contract/report.ts';
import type { FiscalCalendar } from '../../../definitions/periods/fiscal-calendar.ts';
import type { ComparisonKind } from '../../../definitions/schema/comparison.ts';
import { type Bucket, bucketsOf, type DateRange, sameDays } from '../../../plan/buckets.ts';
import {
  type ComparisonContext,
  compareTotals,
  differentLengths,
  partnerOf,
  type TotalsComparison,
  type UnlikeReason,
  unlikeRow,
  yearBefore,
  yearBeforeRange,
} from '../../../plan/like-for-like.ts';
import type { TableComparison } from '../../dataset.ts';
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
  const partner = { likeness, days: differentLengths(range, days), from: days?.from };
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
  return {
    ...partner,
    comparison: { kind, range: days ?? null, ...(sameDays(rowDays, days) ? {} : { rows: rowDays }) },
    buckets: others,
    unlikeRows: buckets.map((bucket, index) =>
      isSettled(bucket.to) ? unlikeRow(bucket, others[index], granularity, context) : 'unfinished',
    ),
  };
}
