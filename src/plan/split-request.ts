import { type Catalog, isAdditive } from '../contract/catalog.ts';
import type { Filter, ReportRequest } from '../contract/report.ts';
import { bucketsOf, dayCount, type RangeSlice } from './buckets.ts';
import type { CallLimits } from './call.ts';
import { splitFilters } from './filters.ts';
import { maxRowsOf, type Partition, type PartitionRefusal, partitionRequest, requestRange } from './partition.ts';
import type { UndefinedTotals } from './plan.ts';

/** One call of a table that needs several. */
export interface SubRequest extends Pick<RangeSlice, 'first' | 'buckets'> {
  readonly request: ReportRequest;
  /** Whose figures it brings: the period's, or those it is compared with. */
  readonly of: 'this' | 'previous';
  /** False: only its totals are read. */
  readonly rows: boolean;
  /** Metrics whose totals it has a part in. */
  readonly totals: readonly string[];
}

export interface RequestSplit {
  readonly requests: readonly SubRequest[];
  /** Several pieces add up to one cell. Otherwise each cell is in one piece, as the service gave it. */
  readonly sums: boolean;
  readonly undefinedTotals?: UndefinedTotals;
}

/** Why a question can be asked neither in one call nor in several that amount to the same. */
export type SplitRefusal =
  | { readonly of: 'fold'; readonly metrics: readonly string[] }
  | { readonly of: 'filter'; readonly dimension: string; readonly metrics: readonly string[] }
  | PartitionRefusal;

export type SplitResult = RequestSplit | { readonly refused: SplitRefusal };

/**
 * The fewest legal calls that together answer what `request` would, were there no limits; itself where it keeps them.
 *
 * The range is cut between buckets, the filters' values and the groups are parted so that no row is in two parts. A
 * figure is the service's own wherever it lies in one part. It is a sum of parts only where a folded range was cut, or a
 * filter whose dimension is no column: then for metrics alone that may be added up (`isAdditive`), every event of
 * which has one day and one value of the dimension; others are refused. The pieces have neither `order` nor `limit`,
 * which say something of the whole only.
 */
export function splitRequest(request: ReportRequest, catalog: Catalog, limits: CallLimits): SplitResult {
  const { order: _order, limit, include, ...body } = request;
  const { metrics, dimensions = [], time } = request;
  const additive = new Set(catalog.metrics.filter(isAdditive).map(({ id }) => id));
  const rigid = metrics.filter((id) => !additive.has(id));

  const { filterSets: fitted, splitDimensions } = splitFilters(request.filters ?? [], limits.max_filter_values);
  const summedFilter = splitDimensions.find((id) => !dimensions.includes(id));
  if (summedFilter !== undefined && rigid.length > 0) {
    return { refused: { of: 'filter', dimension: summedFilter, metrics: rigid } };
  }

  const range = requestRange(request);
  const tooLong = range !== undefined && dayCount(range) > limits.max_range_days;
  const folded = time?.granularity === undefined;
  if (tooLong && folded && rigid.length > 0) return { refused: { of: 'fold', metrics: rigid } };
  const [only, ...more] = fitted;
  const tooMany = limit === undefined && maxRowsOf(request, catalog) > limits.max_rows;
  if (!tooLong && !tooMany && only !== undefined && more.length === 0) {
    return { requests: [wholeRequest(withFilters(request, only))], sums: false };
  }
  const best = partitionRequest(request, fitted, catalog, limits);
  if ('of' in best) return { refused: best };

  // One call without groups has the totals of a table whose range or filters one call takes.
  const whole = tooLong || more.length > 0 ? undefined : only;
  const summable = include === undefined ? [] : metrics.filter((id) => additive.has(id));
  // Totals added up from parts of the groups would agree with rows that are lost: the service's own do not.
  const totals = whole !== undefined && best.filterSets.length > fitted.length ? [] : summable;
  const slice = (part: RangeSlice, of: SubRequest['of'], filters: readonly Filter[]): SubRequest => ({
    request: withFilters(
      { ...body, ...withRange(body, part, best), ...(summable.length === 0 ? {} : { include: ['totals' as const] }) },
      filters,
    ),
    of,
    first: part.first,
    buckets: part.buckets,
    rows: true,
    totals,
  });
  const pieces = best.filterSets.flatMap((filters) => [
    ...best.current.map((part) => slice(part, 'this', filters)),
    ...best.previous.map((part) => slice(part, 'previous', filters)),
  ]);
  const asked = {
    requests: pieces,
    sums: (best.current.length > 1 && folded) || summedFilter !== undefined,
  };
  const apart = metrics.filter((id) => !totals.includes(id));
  if (include === undefined || apart.length === 0) return asked;
  if (whole === undefined) return { ...asked, undefinedTotals: { metrics: rigid, why: tooLong ? 'range' : 'filter' } };
  return { ...asked, requests: [...pieces, totalsRequest(request, apart, whole)] };
}

const withFilters = ({ filters: _filters, ...rest }: ReportRequest, filters: readonly Filter[]): ReportRequest =>
  filters.length === 0 ? rest : { ...rest, filters: [...filters] };

function wholeRequest(request: ReportRequest): SubRequest {
  const range = requestRange(request);
  return {
    request,
    of: 'this',
    first: 0,
    buckets: range === undefined ? 1 : bucketsOf(range, request.time?.granularity).length,
    rows: true,
    totals: request.include === undefined ? [] : request.metrics,
  };
}

function withRange(
  { time }: ReportRequest,
  { from, to }: RangeSlice,
  { current }: Partition,
): Pick<ReportRequest, 'time'> {
  if (time?.from === undefined) return {};
  const { compare, ...rest } = time;
  return { time: { ...rest, from, to, ...(compare === undefined || current.length > 1 ? {} : { compare }) } };
}

function totalsRequest(request: ReportRequest, metrics: string[], filters: readonly Filter[]): SubRequest {
  const { granularity: _granularity, ...time } = request.time ?? {};
  return {
    request: withFilters({ metrics, time, include: ['totals'] }, filters),
    of: 'this',
    first: 0,
    buckets: 1,
    rows: false,
    totals: metrics,
  };
}
