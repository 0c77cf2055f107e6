import { createHash } from 'node:crypto';
import type { OrgRef } from '../contract/organization.ts';
import type { Filter, ReportRequest } from '../contract/report.ts';
import type { Definition, MetricsSection, Section } from '../define/definition.ts';
import type { Period } from '../define/period.ts';
import type { ListCall, ReportCall } from './plan.ts';

/** JSON with sorted keys and nothing undefined: equal questions have equal texts. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

const callId = (kind: string, org: OrgRef, question: unknown): string =>
  createHash('sha256')
    .update(`${kind} ${org} ${canonical(question)}`)
    .digest('hex')
    .slice(0, 16);

export function reportCall(org: OrgRef, request: ReportRequest): ReportCall {
  return { kind: 'report', id: callId('report', org, request), org, request };
}

export function listCall(org: OrgRef, list: 'profiles', section: Section): ListCall {
  const question = {
    list,
    ...(section.ordering === undefined ? {} : { ordering: section.ordering }),
    ...(section.search === undefined ? {} : { search: section.search }),
  };
  return { kind: 'list', id: callId('list', org, question), org, ...question };
}

/**
 * Filters mean the same in any order, with their values in any order, and `eq x` means `in [x]`: one spelling of them,
 * so that sections that ask the same are seen to.
 */
export function sameFilters(filters: Section['filters']): Filter[] | undefined {
  if (filters === undefined || filters.length === 0) return undefined;
  const unique = new Map<string, Filter>();
  for (const { dimension, op, values } of filters) {
    const sorted = [...new Set(values)].sort();
    const filter: Filter = { dimension, op: op === 'in' && sorted.length === 1 ? 'eq' : op, values: sorted };
    unique.set(canonical(filter), filter);
  }
  return [...unique.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, filter]) => filter);
}

/** The `time` object of a section (specification §2.7). A current count is the state now: no range, no comparison. */
function timeOf(
  definition: Definition,
  section: Section,
  period: Period,
  current: boolean,
): NonNullable<ReportRequest['time']> {
  if (current) return { timezone: period.timezone };
  return {
    from: period.from,
    to: period.to,
    timezone: period.timezone,
    ...(section.granularity === undefined ? {} : { granularity: section.granularity }),
    ...(definition.compare === undefined ? {} : { compare: definition.compare }),
  };
}

/** The body that asks for exactly what the section shows. Duplicate metrics are asked for once. */
export function requestOf(
  definition: Definition,
  section: MetricsSection,
  period: Period,
  current: boolean,
): ReportRequest {
  const filters = sameFilters(section.filters);
  return {
    metrics: [...new Set(section.metrics)],
    ...(section.dimensions === undefined || section.dimensions.length === 0 ? {} : { dimensions: section.dimensions }),
    ...(filters === undefined ? {} : { filters }),
    time: timeOf(definition, section, period, current),
    ...(section.order === undefined || section.order.length === 0 ? {} : { order: section.order }),
    ...(section.limit === undefined ? {} : { limit: section.limit }),
    ...(section.totals ? { include: ['totals' as const] } : {}),
  };
}
