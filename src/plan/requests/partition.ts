import type { Catalog } from '../../contract/catalog.ts';
import type { Filter, ReportRequest } from '../../contract/report.ts';
import {
  buildBuckets,
  type DateRange,
  previousPeriod,
  type RangeSlice,
  sliceBuckets,
  sliceRollup,
} from '../buckets.ts';
import { countMaxGroups, splitGroups } from '../filters.ts';
import type { CallLimits } from './call.ts';

/** More calls for one table would occupy the key for minutes. */
export const MAX_CALLS_PER_TABLE = 100;

/** The parts of a request: every slice of the range is requested with every set of filters. */
export interface Partition {
  readonly current: readonly RangeSlice[];
  /** Slices of the previous period; empty if the service makes the comparison. */
  readonly previous: readonly RangeSlice[];
  readonly filterSets: readonly (readonly Filter[])[];
}

/** Why no partition is within the limits. */
export type PartitionRefusal =
  | { readonly kind: 'bucket' }
  | { readonly kind: 'groups'; readonly rows: number }
  | { readonly kind: 'calls'; readonly calls: number };

/** The range of a request; undefined for current counts. */
export const requestRange = ({ time }: ReportRequest): DateRange | undefined =>
  time?.from === undefined || time.to === undefined ? undefined : { from: time.from, to: time.to };

/** The most rows that the response can have: every bucket of every group. */
export function countMaxRows(request: ReportRequest, catalog: Pick<Catalog, 'dimensions'>): number {
  const range = requestRange(request);
  const buckets = range === undefined ? 1 : buildBuckets(range, request.time?.granularity).length;
  return buckets * countMaxGroups(request.dimensions ?? [], request.filters ?? [], catalog);
}

const callCount = ({ current, previous, filterSets }: Partition): number =>
  (current.length + previous.length) * filterSets.length;

/**
 * Finds the partition with the fewest calls: either all groups per call and more slices of the range, or as many
 * buckets per call as possible and split groups. If both need the same number, the range is split, because that needs
 * neither filters nor separate totals.
 * @param filterSets filters of the request, one set per call
 */
export function partitionRequest(
  request: ReportRequest,
  filterSets: readonly (readonly Filter[])[],
  catalog: Catalog,
  limits: CallLimits,
): Partition | PartitionRefusal {
  const groups = Math.max(1, countMaxGroups(request.dimensions ?? [], request.filters ?? [], catalog));
  const bySplitGroups = partitionByBuckets(Number.POSITIVE_INFINITY, request, filterSets, catalog, limits);
  const maxBuckets = Math.max(1, Math.floor(limits.max_rows / groups));
  const candidates = [partitionByBuckets(maxBuckets, request, filterSets, catalog, limits), bySplitGroups];
  const [best] = candidates
    .filter((candidate) => 'filterSets' in candidate)
    .sort((a, b) => callCount(a) - callCount(b));
  if (best === undefined) return bySplitGroups;
  return callCount(best) > MAX_CALLS_PER_TABLE ? { kind: 'calls', calls: callCount(best) } : best;
}

/** At most `maxBuckets` buckets per call, and as many groups as then fit. */
function partitionByBuckets(
  maxBuckets: number,
  request: ReportRequest,
  filterSets: readonly (readonly Filter[])[],
  catalog: Catalog,
  { max_range_days, max_rows, max_filter_values }: CallLimits,
): Partition | PartitionRefusal {
  const { dimensions = [], time } = request;
  const range = requestRange(request);
  const slices = (days: DateRange): RangeSlice[] | undefined =>
    time?.granularity === undefined
      ? sliceRollup(days, max_range_days)
      : sliceBuckets(buildBuckets(days, time.granularity), max_range_days, maxBuckets);
  const current = range === undefined ? [{ from: '', to: '', first: 0, buckets: 1 }] : slices(range);
  // The service would compare a slice with the slice before it, so the previous period is requested separately.
  const comparesSeparately =
    range !== undefined && time?.compare !== undefined && current !== undefined && current.length > 1;
  const previous = comparesSeparately ? slices(previousPeriod(range)) : [];
  if (current === undefined || previous === undefined) return { kind: 'bucket' };
  const longest = Math.max(...[...current, ...previous].map(({ buckets }) => buckets));
  const groups = Math.floor(max_rows / longest);
  const splitSets: (readonly Filter[])[] = [];
  for (const filters of filterSets) {
    const parts = splitGroups(dimensions, filters, catalog, groups, max_filter_values);
    if (parts === undefined) return { kind: 'groups', rows: countMaxRows(request, catalog) };
    splitSets.push(...parts);
  }
  return { current, previous, filterSets: splitSets };
}
