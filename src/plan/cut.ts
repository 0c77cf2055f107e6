import type { Catalog } from '../contract/catalog.ts';
import type { Filter, ReportRequest } from '../contract/report.ts';
import { bucketsOf, type Days, daysOf, foldsOf, previousPeriod, type Slice, slicesOf } from './buckets.ts';
import type { CallLimits } from './call-limits.ts';
import { fitFilters, groupsAtMost, partGroups } from './filters.ts';
import type { UndefinedTotals } from './plan.ts';

/** More calls for one table are refused: they would hold the key for minutes. */
export const MAX_PIECES = 100;

/** One call of a table that needs several. */
export interface CutPiece extends Pick<Slice, 'first' | 'buckets'> {
  readonly request: ReportRequest;
  /** Whose figures it brings: the period's, or those it is compared with. */
  readonly of: 'this' | 'previous';
  /** False: only its totals are read. */
  readonly rows: boolean;
  /** Metrics whose totals it has a part in. */
  readonly totals: readonly string[];
}

export interface Cut {
  readonly pieces: readonly CutPiece[];
  /** Several pieces add up to one cell. Otherwise each cell is in one piece, as the service gave it. */
  readonly sums: boolean;
  readonly undefinedTotals?: UndefinedTotals;
}

/** Why a question can be asked neither in one call nor in several that amount to the same. */
export type Refusal =
  | { readonly of: 'fold'; readonly metrics: readonly string[] }
  | { readonly of: 'filter'; readonly dimension: string; readonly metrics: readonly string[] }
  | { readonly of: 'empty'; readonly dimension: string }
  | { readonly of: 'bucket' }
  | { readonly of: 'groups'; readonly rows: number }
  | { readonly of: 'calls'; readonly calls: number };

export type Cutting = Cut | { readonly refused: Refusal };

interface Arrangement {
  readonly now: readonly Slice[];
  readonly before: readonly Slice[];
  readonly variants: readonly Filter[][];
}

const callsOf = ({ now, before, variants }: Arrangement): number => (now.length + before.length) * variants.length;

/** The range of a question, if it has one: a current count has none. */
const rangeOf = ({ time }: ReportRequest): Days | undefined =>
  time?.from === undefined || time.to === undefined ? undefined : { from: time.from, to: time.to };

/**
 * The fewest legal calls that together answer what `request` would, were there no limits; itself where it keeps them.
 *
 * The range is cut between buckets, the filters' values and the groups are parted so that no row is in two parts. A
 * figure is the service's own wherever it lies in one part. It is a sum of parts only where a folded range was cut, or a
 * filter whose dimension is no column: then for metrics alone that may be added up (`additive_over_time`), every event of
 * which has one day and one value of the dimension; others are refused. The pieces have neither `order` nor `limit`,
 * which say something of the whole only.
 */
export function cutRequest(request: ReportRequest, catalog: Catalog, limits: CallLimits): Cutting {
  const { order: _order, limit, include, ...body } = request;
  const { metrics, dimensions = [], time } = request;
  const additive = new Set(catalog.metrics.filter((metric) => metric.additive_over_time).map(({ id }) => id));
  const rigid = metrics.filter((id) => !additive.has(id));

  const { variants: fitted, spread, empty } = fitFilters(request.filters ?? [], catalog, limits.max_filter_values);
  const [nothing] = empty;
  if (nothing !== undefined) return { refused: { of: 'empty', dimension: nothing } };
  const summedFilter = spread.find((id) => !dimensions.includes(id));
  if (summedFilter !== undefined && rigid.length > 0) {
    return { refused: { of: 'filter', dimension: summedFilter, metrics: rigid } };
  }

  const range = rangeOf(request);
  const granularity = time?.granularity;
  const tooLong = range !== undefined && daysOf(range) > limits.max_range_days;
  if (tooLong && granularity === undefined && rigid.length > 0) return { refused: { of: 'fold', metrics: rigid } };
  const buckets = range === undefined ? undefined : bucketsOf(range, granularity);
  const rows = (buckets?.length ?? 1) * groupsAtMost(dimensions, request.filters ?? [], catalog);
  const [only, ...more] = fitted;
  const tooMany = limit === undefined && rows > limits.max_rows;
  if (!tooLong && !tooMany && only !== undefined && more.length === 0) {
    const whole: CutPiece = {
      request: withFilters(request, only),
      of: 'this',
      first: 0,
      buckets: buckets?.length ?? 1,
      rows: true,
      totals: include === undefined ? [] : metrics,
    };
    return { pieces: [whole], sums: false };
  }

  const arrange = (most: number): Arrangement | Refusal => {
    const slices = (days: Days): Slice[] | undefined =>
      granularity === undefined
        ? foldsOf(days, limits.max_range_days)
        : slicesOf(bucketsOf(days, granularity), limits.max_range_days, most);
    const now = range === undefined ? [{ from: '', to: '', first: 0, buckets: 1 }] : slices(range);
    // Each piece of a cut range would be compared with its own neighbour: the right one is asked for by itself.
    const apart = time?.compare !== undefined && (now?.length ?? 0) > 1 && range !== undefined;
    const before = apart ? slices(previousPeriod(range)) : [];
    if (now === undefined || before === undefined) return { of: 'bucket' };
    const longest = Math.max(...[...now, ...before].map((slice) => slice.buckets));
    const groups = Math.floor(limits.max_rows / longest);
    const parts = fitted.map((filters) => partGroups(dimensions, filters, catalog, groups, limits.max_filter_values));
    const variants = parts.flatMap((part) => part ?? []);
    return parts.includes(undefined) ? { of: 'groups', rows } : { now, before, variants };
  };
  // Either as many buckets a call as may be, with the groups parted; or all groups, with the range cut.
  const groups = Math.max(1, groupsAtMost(dimensions, request.filters ?? [], catalog));
  const ways = [buckets?.length ?? 1, Math.max(1, Math.floor(limits.max_rows / groups))].map(arrange);
  const [best] = ways.filter((way) => 'variants' in way).sort((a, b) => callsOf(a) - callsOf(b));
  if (best === undefined) return { refused: ways.find((way) => 'of' in way) ?? { of: 'groups', rows } };
  if (callsOf(best) > MAX_PIECES) return { refused: { of: 'calls', calls: callsOf(best) } };

  const totals = include === undefined ? [] : metrics.filter((id) => additive.has(id));
  const slice = (part: Slice, of: CutPiece['of'], filters: readonly Filter[]): CutPiece => ({
    request: withFilters(
      { ...body, ...timed(body, part, best), ...(totals.length === 0 ? {} : { include: ['totals' as const] }) },
      filters,
    ),
    of,
    first: part.first,
    buckets: part.buckets,
    rows: true,
    totals,
  });
  const pieces = best.variants.flatMap((filters) => [
    ...best.now.map((part) => slice(part, 'this', filters)),
    ...best.before.map((part) => slice(part, 'previous', filters)),
  ]);
  const asked = {
    pieces,
    sums: (best.now.length > 1 && granularity === undefined) || summedFilter !== undefined,
  };
  if (include === undefined || rigid.length === 0) return asked;
  if (tooLong || more.length > 0 || only === undefined) {
    return { ...asked, undefinedTotals: { metrics: rigid, why: tooLong ? 'range' : 'filter' } };
  }
  // Only the rows were too many: one call without groups has the totals of what cannot be added up.
  return { ...asked, pieces: [...pieces, totalsPiece(request, rigid, only)] };
}

const withFilters = ({ filters: _filters, ...rest }: ReportRequest, filters: readonly Filter[]): ReportRequest =>
  filters.length === 0 ? rest : { ...rest, filters: [...filters] };

function timed({ time }: ReportRequest, { from, to }: Slice, { now }: Arrangement): Pick<ReportRequest, 'time'> {
  if (time?.from === undefined) return time === undefined ? {} : { time };
  const { compare, ...rest } = time;
  return { time: { ...rest, from, to, ...(compare === undefined || now.length > 1 ? {} : { compare }) } };
}

function totalsPiece(request: ReportRequest, metrics: string[], filters: readonly Filter[]): CutPiece {
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
