import type { Catalog } from '../contract/catalog.ts';
import type { Filter, ReportRequest } from '../contract/report.ts';
import { bucketsOf, type DateRange, previousPeriod, type RangeSlice, sliceBuckets, sliceRollup } from './buckets.ts';
import type { CallLimits } from './call.ts';
import { maxGroupsOf, splitGroups } from './filters.ts';

/** More calls for one table are refused: they would hold the key for minutes. */
export const MAX_CALLS_PER_TABLE = 100;

/** Which slices of the range are asked with which filters: each with each. */
export interface Partition {
  readonly current: readonly RangeSlice[];
  /** Slices of the previous period; none when the service can compare by itself. */
  readonly previous: readonly RangeSlice[];
  readonly filterSets: readonly (readonly Filter[])[];
}

/** Why no arrangement keeps the limits. */
export type PartitionRefusal =
  | { readonly of: 'bucket' }
  | { readonly of: 'groups'; readonly rows: number }
  | { readonly of: 'calls'; readonly calls: number };

/** The range of a question, if it has one: a current count has none. */
export const requestRange = ({ time }: ReportRequest): DateRange | undefined =>
  time?.from === undefined || time.to === undefined ? undefined : { from: time.from, to: time.to };

/** Rows that the answer can have at most: every bucket of every group. */
export function maxRowsOf(request: ReportRequest, catalog: Pick<Catalog, 'dimensions'>): number {
  const range = requestRange(request);
  const buckets = range === undefined ? 1 : bucketsOf(range, request.time?.granularity).length;
  return buckets * maxGroupsOf(request.dimensions ?? [], request.filters ?? [], catalog);
}

const callCount = ({ current, previous, filterSets }: Partition): number =>
  (current.length + previous.length) * filterSets.length;

/**
 * The arrangement of fewest calls: either all groups, with the range cut further, or as many buckets a call as may be,
 * with the groups parted. Of as many calls the range is cut, which takes no filter and needs no totals of its own.
 * @param fitted filters of the question, each list of a call of its own
 */
export function partitionRequest(
  request: ReportRequest,
  fitted: readonly (readonly Filter[])[],
  catalog: Catalog,
  limits: CallLimits,
): Partition | PartitionRefusal {
  const groups = Math.max(1, maxGroupsOf(request.dimensions ?? [], request.filters ?? [], catalog));
  const parted = partitionByBuckets(Number.POSITIVE_INFINITY, request, fitted, catalog, limits);
  const most = Math.max(1, Math.floor(limits.max_rows / groups));
  const ways = [partitionByBuckets(most, request, fitted, catalog, limits), parted];
  const [best] = ways.filter((way) => 'filterSets' in way).sort((a, b) => callCount(a) - callCount(b));
  if (best === undefined) return parted;
  return callCount(best) > MAX_CALLS_PER_TABLE ? { of: 'calls', calls: callCount(best) } : best;
}

/** At most so many buckets a call, and as many groups as then go into it. */
function partitionByBuckets(
  most: number,
  request: ReportRequest,
  fitted: readonly (readonly Filter[])[],
  catalog: Catalog,
  { max_range_days, max_rows, max_filter_values }: CallLimits,
): Partition | PartitionRefusal {
  const { dimensions = [], time } = request;
  const range = requestRange(request);
  const slices = (days: DateRange): RangeSlice[] | undefined =>
    time?.granularity === undefined
      ? sliceRollup(days, max_range_days)
      : sliceBuckets(bucketsOf(days, time.granularity), max_range_days, most);
  const current = range === undefined ? [{ from: '', to: '', first: 0, buckets: 1 }] : slices(range);
  // Each piece of a cut range would be compared with its own neighbour: the right one is asked for by itself.
  const apart = range !== undefined && time?.compare !== undefined && current !== undefined && current.length > 1;
  const previous = apart ? slices(previousPeriod(range)) : [];
  if (current === undefined || previous === undefined) return { of: 'bucket' };
  const longest = Math.max(...[...current, ...previous].map(({ buckets }) => buckets));
  const groups = Math.floor(max_rows / longest);
  const filterSets: (readonly Filter[])[] = [];
  for (const filters of fitted) {
    const parts = splitGroups(dimensions, filters, catalog, groups, max_filter_values);
    if (parts === undefined) return { of: 'groups', rows: maxRowsOf(request, catalog) };
    filterSets.push(...parts);
  }
  return { current, previous, filterSets };
}
