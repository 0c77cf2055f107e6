import { createHash } from 'node:crypto';
import type { Catalog } from '../../contract/catalog.ts';
import { LIMITS } from '../../contract/limits.ts';
import type { OrgRef } from '../../contract/organization.ts';
import type { Filter, ReportRequest } from '../../contract/report.ts';
import type { Period } from '../../definitions/periods/period.ts';
import type { ComparisonKind } from '../../definitions/schema/comparison.ts';
import type { MetricsSection, Section } from '../../definitions/schema/report-definition.ts';
import type { ListCall, ReportCall } from '../plan.ts';

/**
 * JSON with sorted keys and without undefined values, so that equal requests have equal texts. Planning spends much of
 * its time here.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const fields = value as { readonly [key: string]: unknown };
  let text = '';
  for (const key of Object.keys(fields).sort()) {
    if (fields[key] !== undefined) text += `${text && ','}${JSON.stringify(key)}:${canonicalJson(fields[key])}`;
  }
  return `{${text}}`;
}

const callId = (kind: string, org: OrgRef, request: unknown): string =>
  createHash('sha256')
    .update(`${kind} ${org} ${canonicalJson(request)}`)
    .digest('hex')
    .slice(0, 16);

export function reportCall(org: OrgRef, request: ReportRequest, bases?: readonly string[]): ReportCall {
  return {
    kind: 'report',
    id: callId('report', org, request),
    org,
    request,
    ...(bases === undefined ? {} : { bases }),
  };
}

export function listCall(org: OrgRef, list: 'profiles', section: Section): ListCall {
  const request = {
    list,
    ...(section.ordering === undefined ? {} : { ordering: section.ordering }),
    ...(section.search === undefined ? {} : { search: section.search }),
  };
  return { kind: 'list', id: callId('list', org, request), org, ...request };
}

/**
 * Filters in canonical form: sorted, with sorted values, and `in [x]` as `eq x`. This makes equal requests of several
 * sections equal texts.
 */
export function normalizeFilters(filters: Section['filters']): Filter[] | undefined {
  if (filters === undefined || filters.length === 0) return undefined;
  const unique = new Map<string, Filter>();
  for (const { dimension, op, values } of filters) {
    const sorted = [...new Set(values)].sort();
    const filter: Filter = { dimension, op: op === 'in' && sorted.length === 1 ? 'eq' : op, values: sorted };
    unique.set(canonicalJson(filter), filter);
  }
  return [...unique.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, filter]) => filter);
}

/** The `time` object of a section (specification §2.7). Current counts have neither range nor comparison. */
function requestTime(
  section: Section,
  { period, comparisons, current }: SectionFrame,
): NonNullable<ReportRequest['time']> {
  if (current) return { timezone: period.timezone };
  return {
    from: period.from,
    to: period.to,
    timezone: period.timezone,
    ...(section.granularity === undefined ? {} : { granularity: section.granularity }),
    // The service knows no other comparison.
    ...(comparisons.includes('previous_period') ? { compare: 'previous_period' } : {}),
  };
}

/** What a section's request depends on besides its definition. */
export interface SectionFrame {
  readonly period: Period;
  readonly comparisons: readonly ComparisonKind[];
  /** True for current counts, which have neither period nor comparison. */
  readonly current: boolean;
}

/** The request body for a section, without duplicate metrics. */
export function buildRequest(section: MetricsSection, frame: SectionFrame): ReportRequest {
  const filters = normalizeFilters(section.filters);
  return {
    metrics: [...new Set(section.metrics)],
    ...(section.dimensions === undefined || section.dimensions.length === 0 ? {} : { dimensions: section.dimensions }),
    ...(filters === undefined ? {} : { filters }),
    time: requestTime(section, frame),
    ...(section.order === undefined || section.order.length === 0 ? {} : { order: section.order }),
    ...(section.limit === undefined ? {} : { limit: section.limit }),
    ...(section.totals ? { include: ['totals' as const] } : {}),
  };
}

/** Limits of one metrics call (specification §8). */
export interface CallLimits {
  readonly max_range_days: number;
  readonly max_rows: number;
  readonly max_metrics: number;
  readonly max_filter_values: number;
}

/**
 * The service's limits: from the catalog if it has them, otherwise from the specification.
 * @param stricter overrides them; smaller calls give the same tables
 */
export function callLimits({ limits }: Pick<Catalog, 'limits'>, stricter: Partial<CallLimits> = {}): CallLimits {
  return {
    max_range_days: limits.max_range_days,
    max_rows: limits.max_rows,
    max_metrics: LIMITS.max_metrics,
    max_filter_values: LIMITS.max_filter_values,
    ...stricter,
  };
}
