import type { Catalog } from '../contract/catalog.ts';
import type { Filter, ReportRequest } from '../contract/report.ts';
import { bucketsOf, type Days, foldsOf, previousPeriod, type Slice, slicesOf } from './buckets.ts';
import type { CallLimits } from './call-limits.ts';
import { groupsAtMost, partGroups } from './filters.ts';

/** More calls for one table are refused: they would hold the key for minutes. */
export const MAX_PIECES = 100;

/** Which slices of the range are asked with which filters: each with each. */
export interface Arrangement {
  readonly now: readonly Slice[];
  /** Slices of the previous period; none when the service can compare by itself. */
  readonly before: readonly Slice[];
  readonly variants: readonly (readonly Filter[])[];
}

/** Why no arrangement keeps the limits. */
export type Unarranged =
  | { readonly of: 'bucket' }
  | { readonly of: 'groups'; readonly rows: number }
  | { readonly of: 'calls'; readonly calls: number };

/** The range of a question, if it has one: a current count has none. */
export const rangeOf = ({ time }: ReportRequest): Days | undefined =>
  time?.from === undefined || time.to === undefined ? undefined : { from: time.from, to: time.to };

/** Rows that the answer can have at most: every bucket of every group. */
export function rowsAtMost(request: ReportRequest, catalog: Pick<Catalog, 'dimensions'>): number {
  const range = rangeOf(request);
  const buckets = range === undefined ? 1 : bucketsOf(range, request.time?.granularity).length;
  return buckets * groupsAtMost(request.dimensions ?? [], request.filters ?? [], catalog);
}

const callsOf = ({ now, before, variants }: Arrangement): number => (now.length + before.length) * variants.length;

/**
 * The arrangement of fewest calls: either all groups, with the range cut further, or as many buckets a call as may be,
 * with the groups parted. Of as many calls the range is cut, which takes no filter and needs no totals of its own.
 * @param fitted filters of the question, each list of a call of its own
 */
export function arrange(
  request: ReportRequest,
  fitted: readonly (readonly Filter[])[],
  catalog: Catalog,
  limits: CallLimits,
): Arrangement | Unarranged {
  const groups = Math.max(1, groupsAtMost(request.dimensions ?? [], request.filters ?? [], catalog));
  const parted = withBuckets(Number.POSITIVE_INFINITY, request, fitted, catalog, limits);
  const most = Math.max(1, Math.floor(limits.max_rows / groups));
  const ways = [withBuckets(most, request, fitted, catalog, limits), parted];
  const [best] = ways.filter((way) => 'variants' in way).sort((a, b) => callsOf(a) - callsOf(b));
  if (best === undefined) return parted;
  return callsOf(best) > MAX_PIECES ? { of: 'calls', calls: callsOf(best) } : best;
}

/** At most so many buckets a call, and as many groups as then go into it. */
function withBuckets(
  most: number,
  request: ReportRequest,
  fitted: readonly (readonly Filter[])[],
  catalog: Catalog,
  { max_range_days, max_rows, max_filter_values }: CallLimits,
): Arrangement | Unarranged {
  const { dimensions = [], time } = request;
  const range = rangeOf(request);
  const slices = (days: Days): Slice[] | undefined =>
    time?.granularity === undefined
      ? foldsOf(days, max_range_days)
      : slicesOf(bucketsOf(days, time.granularity), max_range_days, most);
  const now = range === undefined ? [{ from: '', to: '', first: 0, buckets: 1 }] : slices(range);
  // Each piece of a cut range would be compared with its own neighbour: the right one is asked for by itself.
  const apart = range !== undefined && time?.compare !== undefined && now !== undefined && now.length > 1;
  const before = apart ? slices(previousPeriod(range)) : [];
  if (now === undefined || before === undefined) return { of: 'bucket' };
  const longest = Math.max(...[...now, ...before].map(({ buckets }) => buckets));
  const groups = Math.floor(max_rows / longest);
  const variants: (readonly Filter[])[] = [];
  for (const filters of fitted) {
    const parts = partGroups(dimensions, filters, catalog, groups, max_filter_values);
    if (parts === undefined) return { of: 'groups', rows: rowsAtMost(request, catalog) };
    variants.push(...parts);
  }
  return { now, before, variants };
}
