import type { Catalog } from '../../contract/catalog.ts';
import type { ReportRequest } from '../../contract/report.ts';
import type { FiscalCalendar } from '../../definitions/periods/fiscal-calendar.ts';
import type { ComparisonKind, ToDate } from '../../definitions/schema/comparison.ts';
import { buildBuckets, type DateRange, previousPeriod, sameDays } from '../buckets.ts';
import { findPartner, toDateRange, yearBeforeRange } from '../like-for-like.ts';
import type { PartnerPlan } from '../plan.ts';
import { trendRequest, trendSpan } from '../trend.ts';
import type { CallLimits } from './call.ts';
import { requestRange } from './partition.ts';
import { splitRequest } from './split-request.ts';

/** A request for a section's figures on other days, regardless of limits. */
export type PartnerRequest = Pick<PartnerPlan, 'kind' | 'of' | 'range' | 'request'>;

interface PartnerContext {
  readonly catalog: Catalog;
  readonly calendar: FiscalCalendar;
  readonly limits: CallLimits;
}

/**
 * The requests of a section besides its own. For `previous_year`: its rows and its totals, whose days may differ. For
 * `to_date`: its totals, and its rows if they have no bucket. For a trend: its buckets. If rows and totals have the
 * same days, they share a request with totals. A request for totals alone has neither dimensions nor granularity: its
 * single row is the total, and sections with equal filters share it.
 * @param of the section's own request, for the whole table
 */
export function partnerRequests(
  {
    request,
    comparisons,
    toDate,
    trend,
  }: {
    readonly request: ReportRequest;
    readonly comparisons: readonly ComparisonKind[];
    readonly toDate: ToDate | undefined;
    /** The number of points in a scorecard's small charts. */
    readonly trend?: number | undefined;
  },
  context: PartnerContext,
): PartnerRequest[] {
  const range = requestRange(request);
  if (range === undefined) return [];
  const { calendar } = context;
  const granularity = request.time?.granularity;
  const found: PartnerRequest[] = [];
  if (comparisons.includes('previous_year') && yearBeforeInComparison(request, calendar) === undefined) {
    const totals = findPartner(range, 'previous_year', calendar);
    const rows = granularity === undefined ? totals : yearBeforeRange(buildBuckets(range, granularity), granularity);
    found.push(...buildPartners('previous_year', request, { rows, totals }, context));
  }
  if (toDate !== undefined) {
    const days = toDateRange(range, toDate, calendar);
    const rows = granularity === undefined ? days : undefined;
    found.push(...buildPartners('to_date', request, { rows, totals: days }, context));
  }
  if (trend !== undefined) {
    const span = trendSpan(range, trend);
    const ofTrend = trendRequest(request, span, context.catalog);
    if (ofTrend !== undefined) found.push({ kind: 'trend', of: 'rows', range: span.range, request: ofTrend });
  }
  return found;
}

/**
 * The year before, if the request's comparison with the previous period covers it. That is so for a whole year, because
 * the months are at the same positions. Undefined if separate requests are needed.
 */
export function yearBeforeInComparison(request: ReportRequest, calendar: FiscalCalendar): DateRange | undefined {
  const { compare, granularity } = request.time ?? {};
  const range = requestRange(request);
  if (compare === undefined || range === undefined || granularity === 'day' || granularity === 'week') return undefined;
  const before = previousPeriod(range);
  const years = [
    findPartner(range, 'previous_year', calendar),
    ...(granularity === undefined ? [] : [yearBeforeRange(buildBuckets(range, granularity), granularity)]),
  ];
  return years.every((year) => sameDays(year, before)) ? before : undefined;
}

function buildPartners(
  kind: Exclude<PartnerPlan['kind'], 'trend'>,
  request: ReportRequest,
  ranges: { readonly rows: DateRange | undefined; readonly totals: DateRange | undefined },
  context: PartnerContext,
): PartnerRequest[] {
  const { order: _order, limit: _limit, include, dimensions, ...body } = request;
  const { compare: _compare, granularity, ...time } = request.time ?? {};
  // A single row without a bucket is a total.
  const hasRows = dimensions !== undefined || granularity !== undefined;
  const includesTotals = include !== undefined || !hasRows;
  const rows = hasRows ? ranges.rows : undefined;
  const totals = includesTotals ? ranges.totals : undefined;
  const together = rows !== undefined && sameDays(rows, totals);
  const found: PartnerRequest[] = [];
  if (rows !== undefined) {
    const forRows: ReportRequest = {
      ...body,
      ...(dimensions === undefined ? {} : { dimensions }),
      time: { ...time, ...rows, ...(granularity === undefined ? {} : { granularity }) },
      ...(together ? { include: ['totals'] } : {}),
    };
    found.push({ kind, of: 'rows', range: rows, request: forRows });
    if (together) found.push({ kind, of: 'totals', range: rows, request: forRows });
  }
  if (totals !== undefined && !together) {
    const forTotals = withSplittableMetrics({ ...body, time: { ...time, ...totals } }, context);
    if (forTotals !== undefined) found.push({ kind, of: 'totals', range: totals, request: forTotals });
  }
  return found;
}

/**
 * Removes the metrics whose totals would be sums over several calls but cannot be added up: they are undefined, as in a
 * section's own totals. Undefined if none is left.
 */
function withSplittableMetrics(request: ReportRequest, { catalog, limits }: PartnerContext): ReportRequest | undefined {
  const split = splitRequest(request, catalog, limits);
  if (!('refused' in split) || !('metrics' in split.refused)) return request;
  const refused = new Set(split.refused.metrics);
  const metrics = request.metrics.filter((id) => !refused.has(id));
  return metrics.length === 0 ? undefined : { ...request, metrics };
}

/** Whether a partner's days are the section's own, so that the section's calls provide its figures. */
export function isAnsweredBySection({ kind, of, range, request }: PartnerRequest, own: ReportRequest): boolean {
  // The section of a scorecard has no buckets.
  if (kind === 'trend') return false;
  const days = requestRange(own);
  const hasTotals = own.include !== undefined || (own.dimensions === undefined && own.time?.granularity === undefined);
  return sameDays(days, range) && (of === 'rows' || hasTotals) && request.metrics.length === own.metrics.length;
}
