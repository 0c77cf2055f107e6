import type { Catalog, Metric } from '../../../../contract/catalog.ts';
import type { Granularity, ReportRequest, ReportResponse, ReportRow } from '../../../../contract/report.ts';
import type { ComparisonKind } from '../../../../definitions/schema/comparison.ts';
import { type Bucket, buildBuckets, type DateRange, previousPeriod, sameDays } from '../../../../plan/buckets.ts';
import {
  type ComparisonContext,
  compareTotals,
  differentLengths,
  findPartner,
  findRowMismatch,
  type NotComparableReason,
  type TotalsComparison,
  yearBefore,
} from '../../../../plan/like-for-like.ts';
import { requestRange } from '../../../../plan/requests/partition.ts';
import { yearBeforeInComparison } from '../../../../plan/requests/partner-requests.ts';
import type { ComparedFigures, Comparisons, MetricValues, TableComparison } from '../../../dataset.ts';
import { withoutValuesBeforeData } from '../data-start.ts';
import { type PartnerAnswer, partnerRange, partnerRows, partnerTotals, pickMetrics } from './partner-answers.ts';

export interface CompareInput {
  /** Request and response for the whole table. */
  readonly request: ReportRequest;
  readonly response: ReportResponse;
  readonly partners: readonly PartnerAnswer[];
  readonly catalog: Catalog;
  /** The section's metrics. */
  readonly metrics: readonly Metric[];
  readonly context: ComparisonContext;
  /** Its range had not ended when it was computed. */
  readonly running: boolean;
}

/** Compares a table: knows the compared days, and finds the figures for its rows and totals. */
export interface TableComparer {
  readonly comparison: TableComparison;
  /** The first of the compared days. A metric's data may begin later. */
  readonly from: string | undefined;
  /** Whether totals, and rows without a bucket, can be compared. */
  readonly totalsComparison: TotalsComparison;
  /** The number of days in the range and in the compared range, if they differ. */
  readonly days: readonly [number, number] | null;
  readonly ofRow: (row: ReportRow) => ComparedFigures | undefined;
  readonly ofTotals: () => ComparedFigures | undefined;
}

/** The days that a table covers; undefined for current counts. */
export function findCoveredRange({
  request,
  response,
}: Pick<CompareInput, 'request' | 'response'>): DateRange | undefined {
  if (request.time?.from === undefined) return undefined;
  const range = response.meta.range ?? requestRange(request);
  return range === undefined ? undefined : { from: range.from, to: range.to };
}

/** Creates the comparer of a table for one kind of comparison. */
export function tableComparer(kind: ComparisonKind, input: CompareInput): TableComparer {
  const range = findCoveredRange(input);
  if (kind === 'previous_period') return previousPeriodComparer(input, range);
  const before = yearBeforeInComparison(input.request, input.context.calendar ?? {});
  if (before === undefined) return previousYearComparer(input, range);
  const previous = previousPeriodComparer(input, range);
  const { range: reported } = previous.comparison;
  // If the service compares with other days, they are not the same days a year before.
  if (reported !== null && !sameDays(reported, before)) return previousYearComparer({ ...input, partners: [] }, range);
  return { ...previous, comparison: { ...previous.comparison, kind } };
}

function compareRanges(
  range: DateRange | undefined,
  partner: DateRange | undefined,
  { context, running }: CompareInput,
): TotalsComparison {
  if (running) return { compared: false, unlike: 'unfinished' };
  return range === undefined ? { compared: false, unlike: 'no_partner' } : compareTotals(range, partner, context);
}

/** The bucket of a row, and why its change is not shown. */
interface MatchedBucket {
  readonly partner: Bucket | undefined;
  readonly unlike: ComparedFigures['unlike'];
}

const NO_PARTNER: MatchedBucket = { partner: undefined, unlike: 'no_partner' };

/** Matches each bucket of the range with the bucket it is compared with, by label. */
function bucketMatcher(
  range: DateRange,
  granularity: Granularity,
  partnerOf: (bucket: Bucket, index: number) => Bucket | undefined,
  context: ComparisonContext,
): (label: string | null | undefined) => MatchedBucket {
  const matched = new Map(
    buildBuckets(range, granularity).map((bucket, index) => {
      const partner = partnerOf(bucket, index);
      return [bucket.label, { partner, unlike: findRowMismatch(bucket, partner, granularity, context) }] as const;
    }),
  );
  return (label) => matched.get(label ?? '') ?? NO_PARTNER;
}

/** The service compares the n-th bucket with the n-th of the previous period (specification §2.7). */
function previousPeriodComparer(input: CompareInput, range: DateRange | undefined): TableComparer {
  const { request, response, metrics, context } = input;
  const { meta, totals } = response;
  const reported = meta.compare_range == null ? null : { from: meta.compare_range.from, to: meta.compare_range.to };
  // If the service does not report the days, they are computed by its rule.
  const days = reported ?? (range === undefined ? undefined : previousPeriod(range));
  const names = metrics.map(({ id }) => id);
  const granularity = request.time?.granularity;
  const totalsComparison = compareRanges(range, days, input);
  const previous = days === undefined || granularity === undefined ? [] : buildBuckets(days, granularity);
  const match =
    range === undefined || granularity === undefined
      ? undefined
      : bucketMatcher(range, granularity, (_, index) => previous[index], context);
  const valuesFrom = (values: Readonly<Record<string, unknown>>, from: string | undefined): MetricValues => {
    const picked = pickMetrics(values, names);
    return from === undefined ? picked : withoutValuesBeforeData(picked, from, metrics);
  };
  const whole = (values: Readonly<Record<string, unknown>>): ComparedFigures =>
    comparedTotals(valuesFrom(values, days?.from), totalsComparison);
  return {
    comparison: { kind: 'previous_period', range: reported },
    from: days?.from,
    totalsComparison,
    days: differentLengths(range, days),
    ofRow: ({ bucket, partial, compare }) => {
      if (compare == null) return undefined;
      if (match === undefined) return whole(compare);
      const { partner, unlike } = match(bucket);
      return comparedFigures(
        valuesFrom(compare, partner?.from ?? days?.from),
        partial === true ? 'unfinished' : unlike,
      );
    },
    ofTotals: () => (totals?.compare == null ? undefined : whole(totals.compare)),
  };
}

function previousYearComparer(input: CompareInput, range: DateRange | undefined): TableComparer {
  const { request, partners, catalog, metrics, context } = input;
  const granularity = request.time?.granularity;
  const names = metrics.map(({ id }) => id);
  const find = (of: PartnerAnswer['of']) => partners.find((one) => one.kind === 'previous_year' && one.of === of);
  const expected = range === undefined ? undefined : findPartner(range, 'previous_year', context.calendar);
  // A service may answer for other days. Buckets are matched by their labels, but totals only with the exact year
  // before.
  const ofYear = (partner: PartnerAnswer | undefined) =>
    partner !== undefined && expected !== undefined && sameDays(partnerRange(partner), expected) ? partner : undefined;
  const ofTotals = ofYear(find('totals'));
  const ofRows = granularity === undefined ? ofYear(find('rows')) : find('rows');
  const whole = ofTotals ?? (granularity === undefined ? ofRows : undefined);
  const days = whole === undefined ? null : partnerRange(whole);
  const rowDays = ofRows === undefined ? null : partnerRange(ofRows);
  const totalsComparison = compareRanges(range, days ?? undefined, input);
  const partnerBuckets = new Map(
    rowDays === null || granularity === undefined
      ? []
      : buildBuckets(rowDays, granularity).map((bucket) => [bucket.label, bucket]),
  );
  const match =
    range === undefined || granularity === undefined
      ? undefined
      : bucketMatcher(
          range,
          granularity,
          (bucket) => partnerBuckets.get(yearBefore(bucket, granularity)?.label ?? ''),
          context,
        );
  const totals = ofTotals === undefined ? undefined : partnerTotals(ofTotals);
  const totalFigures = (): ComparedFigures =>
    comparedTotals(
      days === null ? {} : withoutValuesBeforeData(pickMetrics(totals, names), days.from, metrics),
      totalsComparison,
    );
  const lookUp = ofRows === undefined ? undefined : partnerRows(ofRows, catalog);
  return {
    comparison: {
      kind: 'previous_year',
      range: days,
      ...(granularity === undefined || sameDays(days, rowDays) ? {} : { rows: rowDays }),
    },
    from: [days?.from, rowDays?.from].filter((day) => day !== undefined).sort()[0],
    totalsComparison,
    days: differentLengths(range, days ?? undefined),
    ofRow: (row) => {
      if (match === undefined) {
        // A single row is the total.
        if (find('rows') === undefined) return totalFigures();
        if (lookUp === undefined || rowDays === null) return { values: {}, unlike: 'no_partner' };
        return comparedTotals(
          withoutValuesBeforeData(lookUp(row, undefined, names), rowDays.from, metrics),
          totalsComparison,
        );
      }
      const { partner, unlike } = match(row.bucket);
      const values =
        partner === undefined || lookUp === undefined
          ? {}
          : withoutValuesBeforeData(lookUp(row, partner.label, names), partner.from, metrics);
      return comparedFigures(values, row.partial === true ? 'unfinished' : unlike);
    },
    ofTotals: totalFigures,
  };
}

export const comparedFigures = (values: MetricValues, unlike: NotComparableReason | undefined): ComparedFigures => ({
  values,
  ...(unlike === undefined ? {} : { unlike }),
});

/** The compared figures of totals, and of rows without a bucket. */
export const comparedTotals = (values: MetricValues, totalsComparison: TotalsComparison): ComparedFigures =>
  comparedFigures(values, totalsComparison.compared ? undefined : totalsComparison.unlike);

/** The figures of all comparisons; undefined if no comparison has any. */
export function collectComparisons<Comparer extends { readonly comparison: { readonly kind: ComparisonKind } }>(
  comparers: readonly Comparer[],
  figures: (comparer: Comparer) => ComparedFigures | undefined,
): Comparisons | undefined {
  const found = comparers.flatMap((comparer) => {
    const compared = figures(comparer);
    return compared === undefined ? [] : [[comparer.comparison.kind, compared] as const];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}
