import { type Catalog, isAdditive } from '../contract/catalog.ts';
import type { Filter, ReportRequest } from '../contract/report.ts';
import { type Arrangement, arrange, rangeOf, rowsAtMost, type Unarranged } from './arrange.ts';
import { bucketsOf, daysOf, type Slice } from './buckets.ts';
import type { CallLimits } from './call-limits.ts';
import { fitFilters } from './filters.ts';
import type { UndefinedTotals } from './plan.ts';

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
  | Unarranged;

export type Cutting = Cut | { readonly refused: Refusal };

/**
 * The fewest legal calls that together answer what `request` would, were there no limits; itself where it keeps them.
 *
 * The range is cut between buckets, the filters' values and the groups are parted so that no row is in two parts. A
 * figure is the service's own wherever it lies in one part. It is a sum of parts only where a folded range was cut, or a
 * filter whose dimension is no column: then for metrics alone that may be added up (`isAdditive`), every event of
 * which has one day and one value of the dimension; others are refused. The pieces have neither `order` nor `limit`,
 * which say something of the whole only.
 */
export function cutRequest(request: ReportRequest, catalog: Catalog, limits: CallLimits): Cutting {
  const { order: _order, limit, include, ...body } = request;
  const { metrics, dimensions = [], time } = request;
  const additive = new Set(catalog.metrics.filter(isAdditive).map(({ id }) => id));
  const rigid = metrics.filter((id) => !additive.has(id));

  const { variants: fitted, spread } = fitFilters(request.filters ?? [], limits.max_filter_values);
  const summedFilter = spread.find((id) => !dimensions.includes(id));
  if (summedFilter !== undefined && rigid.length > 0) {
    return { refused: { of: 'filter', dimension: summedFilter, metrics: rigid } };
  }

  const range = rangeOf(request);
  const tooLong = range !== undefined && daysOf(range) > limits.max_range_days;
  const folded = time?.granularity === undefined;
  if (tooLong && folded && rigid.length > 0) return { refused: { of: 'fold', metrics: rigid } };
  const [only, ...more] = fitted;
  const tooMany = limit === undefined && rowsAtMost(request, catalog) > limits.max_rows;
  if (!tooLong && !tooMany && only !== undefined && more.length === 0) {
    return { pieces: [wholePiece(withFilters(request, only))], sums: false };
  }
  const best = arrange(request, fitted, catalog, limits);
  if ('of' in best) return { refused: best };

  // One call without groups has the totals of a table whose range or filters one call takes.
  const whole = tooLong || more.length > 0 ? undefined : only;
  const summable = include === undefined ? [] : metrics.filter((id) => additive.has(id));
  // Totals added up from parts of the groups would agree with rows that are lost: the service's own do not.
  const totals = whole !== undefined && best.variants.length > fitted.length ? [] : summable;
  const slice = (part: Slice, of: CutPiece['of'], filters: readonly Filter[]): CutPiece => ({
    request: withFilters(
      { ...body, ...timed(body, part, best), ...(summable.length === 0 ? {} : { include: ['totals' as const] }) },
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
    sums: (best.now.length > 1 && folded) || summedFilter !== undefined,
  };
  const apart = metrics.filter((id) => !totals.includes(id));
  if (include === undefined || apart.length === 0) return asked;
  if (whole === undefined) return { ...asked, undefinedTotals: { metrics: rigid, why: tooLong ? 'range' : 'filter' } };
  return { ...asked, pieces: [...pieces, totalsPiece(request, apart, whole)] };
}

const withFilters = ({ filters: _filters, ...rest }: ReportRequest, filters: readonly Filter[]): ReportRequest =>
  filters.length === 0 ? rest : { ...rest, filters: [...filters] };

function wholePiece(request: ReportRequest): CutPiece {
  const range = rangeOf(request);
  return {
    request,
    of: 'this',
    first: 0,
    buckets: range === undefined ? 1 : bucketsOf(range, request.time?.granularity).length,
    rows: true,
    totals: request.include === undefined ? [] : request.metrics,
  };
}

function timed({ time }: ReportRequest, { from, to }: Slice, { now }: Arrangement): Pick<ReportRequest, 'time'> {
  if (time?.from === undefined) return {};
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
