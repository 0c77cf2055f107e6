import { type Catalog, isAdditive } from '../../contract/catalog.ts';
import type { Filter, ReportRequest } from '../../contract/report.ts';
import { buildBuckets, dayCount, type RangeSlice } from '../buckets.ts';
import { splitFilters } from '../filters.ts';
import type { UndefinedTotals } from '../plan.ts';
import type { CallLimits } from './call.ts';
import { countMaxRows, type Partition, type PartitionRefusal, partitionRequest, requestRange } from './partition.ts';

/** One of several calls for a table. */
export interface SubRequest extends Pick<RangeSlice, 'first' | 'buckets'> {
  readonly request: ReportRequest;
  /** The period of its values. */
  readonly period: 'this' | 'previous';
  /** False: only its totals are read. */
  readonly rows: boolean;
  /** Metrics for which its totals count. */
  readonly totals: readonly string[];
}

export interface RequestSplit {
  readonly requests: readonly SubRequest[];
  /** True: cells are sums over several parts. False: each cell is in one part only. */
  readonly sums: boolean;
  readonly undefinedTotals?: UndefinedTotals;
}

/** Why a request cannot be split into equivalent calls within the limits. */
export type SplitRefusal =
  | { readonly kind: 'fold'; readonly metrics: readonly string[] }
  | { readonly kind: 'filter'; readonly dimension: string; readonly metrics: readonly string[] }
  | PartitionRefusal;

export type SplitResult = RequestSplit | { readonly refused: SplitRefusal };

/**
 * Splits a request into the fewest calls within the limits. A request within the limits is not changed.
 *
 * The range is split between buckets. Filter values and groups are split so that no row is in two parts. A value from
 * one part is the service's own. Values are sums over parts only if a range without granularity was split, or a filter
 * whose dimension is not a column. This is only done for additive metrics (`isAdditive`), because each of their events
 * has one day and one value of the dimension; other metrics are refused. The parts have neither `order` nor `limit`,
 * which apply to the whole table.
 */
export function splitRequest(request: ReportRequest, catalog: Catalog, limits: CallLimits): SplitResult {
  const { order: _order, limit, include, ...body } = request;
  const { metrics, dimensions = [], time } = request;
  const additive = new Set(catalog.metrics.filter(isAdditive).map(({ id }) => id));
  const nonAdditive = metrics.filter((id) => !additive.has(id));

  const { filterSets, splitDimensions } = splitFilters(request.filters ?? [], limits.max_filter_values);
  const summedFilter = splitDimensions.find((id) => !dimensions.includes(id));
  if (summedFilter !== undefined && nonAdditive.length > 0) {
    return { refused: { kind: 'filter', dimension: summedFilter, metrics: nonAdditive } };
  }

  const range = requestRange(request);
  const tooLong = range !== undefined && dayCount(range) > limits.max_range_days;
  const withoutGranularity = time?.granularity === undefined;
  if (tooLong && withoutGranularity && nonAdditive.length > 0)
    return { refused: { kind: 'fold', metrics: nonAdditive } };
  const [only, ...more] = filterSets;
  const tooMany = limit === undefined && countMaxRows(request, catalog) > limits.max_rows;
  if (!tooLong && !tooMany && only !== undefined && more.length === 0) {
    return { requests: [wholeRequest(withFilters(request, only))], sums: false };
  }
  const best = partitionRequest(request, filterSets, catalog, limits);
  if ('kind' in best) return { refused: best };

  // If one call can have the whole range and all filters, a call without groups provides the totals.
  const wholeFilters = tooLong || more.length > 0 ? undefined : only;
  const summable = include === undefined ? [] : metrics.filter((id) => additive.has(id));
  // Totals that are summed over parts of the groups would hide lost rows. The service's totals do not.
  const totals = wholeFilters !== undefined && best.filterSets.length > filterSets.length ? [] : summable;
  const slice = (part: RangeSlice, period: SubRequest['period'], filters: readonly Filter[]): SubRequest => ({
    request: withFilters(
      { ...body, ...withRange(body, part, best), ...(summable.length === 0 ? {} : { include: ['totals' as const] }) },
      filters,
    ),
    period,
    first: part.first,
    buckets: part.buckets,
    rows: true,
    totals,
  });
  const subRequests = best.filterSets.flatMap((filters) => [
    ...best.current.map((part) => slice(part, 'this', filters)),
    ...best.previous.map((part) => slice(part, 'previous', filters)),
  ]);
  const split = {
    requests: subRequests,
    sums: (best.current.length > 1 && withoutGranularity) || summedFilter !== undefined,
  };
  const separateTotals = metrics.filter((id) => !totals.includes(id));
  if (include === undefined || separateTotals.length === 0) return split;
  if (wholeFilters === undefined)
    return { ...split, undefinedTotals: { metrics: nonAdditive, why: tooLong ? 'range' : 'filter' } };
  return { ...split, requests: [...subRequests, totalsRequest(request, separateTotals, wholeFilters)] };
}

const withFilters = ({ filters: _filters, ...rest }: ReportRequest, filters: readonly Filter[]): ReportRequest =>
  filters.length === 0 ? rest : { ...rest, filters: [...filters] };

function wholeRequest(request: ReportRequest): SubRequest {
  const range = requestRange(request);
  return {
    request,
    period: 'this',
    first: 0,
    buckets: range === undefined ? 1 : buildBuckets(range, request.time?.granularity).length,
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
    period: 'this',
    first: 0,
    buckets: 1,
    rows: false,
    totals: metrics,
  };
}
