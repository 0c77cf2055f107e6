import type { Catalog } from '../../contract/catalog.ts';
import type { ReportRequest } from '../../contract/report.ts';
import { metricPath } from '../../definitions/schema/layout.ts';
import type { Section } from '../../definitions/schema/report-definition.ts';
import { dayCount } from '../buckets.ts';
import { splitMetrics } from '../requests/build-calls.ts';
import { type CallLimits, callLimits } from '../requests/call.ts';
import { MAX_CALLS_PER_TABLE } from '../requests/partition.ts';
import { type SectionRequest, type SectionRequestsInput, sectionRequests } from '../requests/section-requests.ts';
import { type SplitRefusal, splitRequest } from '../requests/split-request.ts';
import { findCatalogDiagnostics, type PlanDiagnostic, quoted } from './catalog-check.ts';
import { checkDisplay } from './check-display.ts';
import { checkConditions } from './check-targets.ts';
import { trendDiagnostics, unusualConditions } from './check-trends.ts';
import { comparisonDiagnostics } from './comparison-check.ts';

export type CheckPlanInput = SectionRequestsInput;

/** A section with its own request or that of a partner, regardless of limits. */
export interface MetricsRequest {
  readonly section: Section;
  readonly request: ReportRequest;
}

/** The most diagnostics, because those of very long lists would take minutes. */
export const MAX_PLAN_DIAGNOSTICS = 100;

/**
 * Reports what cannot be requested with this catalog or for this period, and comparisons, trends and conditions that
 * can never apply: in the order of the file, at most `MAX_PLAN_DIAGNOSTICS`.
 */
export function checkPlan(input: CheckPlanInput): PlanDiagnostic[] {
  const requests = sectionRequests(input);
  const diagnostics = [
    ...checkDisplay(input.definition, input.catalog),
    ...checkRequests(requests, input),
    ...comparisonDiagnostics(requests, input),
    ...trendDiagnostics(requests, input),
    ...checkConditions(input.definition, input.catalog),
    ...unusualConditions(requests, input),
  ];
  // Within a section they are already in order.
  return diagnostics.sort((a, b) => sectionIndex(a) - sectionIndex(b)).slice(0, MAX_PLAN_DIAGNOSTICS);
}

/** Fields of the report come before sections. */
const sectionIndex = ({ path }: PlanDiagnostic): number => (path[0] === 'sections' ? Number(path[1]) : -1);

/** Only the diagnostics of `checkPlan` that stop a run. */
export function checkRequests(
  requests: readonly SectionRequest[],
  { definition, settings, catalog, limits }: CheckPlanInput,
): PlanDiagnostic[] {
  const diagnostics: PlanDiagnostic[] = [];
  const sections = requests.map(({ section }) => section);
  for (const diagnostic of findCatalogDiagnostics({ ...definition, sections }, catalog, settings?.readings)) {
    if (diagnostics.push(diagnostic) === MAX_PLAN_DIAGNOSTICS) return diagnostics;
  }
  for (const [index, one] of requests.entries()) {
    const { section, request } = one;
    // Splitting is checked only for sections without other diagnostics.
    if (request === undefined || diagnostics.some(({ path }) => path[1] === index)) continue;
    const at = ['sections', index];
    const own = checkSplit({ section, request }, at, catalog, callLimits(catalog, limits));
    diagnostics.push(...(own.length > 0 ? own : partnerDiagnostics(one, at, catalog, callLimits(catalog, limits))));
  }
  return diagnostics.sort((a, b) => sectionIndex(a) - sectionIndex(b)).slice(0, MAX_PLAN_DIAGNOSTICS);
}

/** Partners have no `limit`, so they may have more rows than the section. */
function partnerDiagnostics(
  { section, partners }: SectionRequest,
  at: PlanDiagnostic['path'],
  catalog: Catalog,
  limits: CallLimits,
): PlanDiagnostic[] {
  for (const { kind, request } of partners) {
    const [found] = checkSplit({ section, request }, at, catalog, limits);
    if (found === undefined) continue;
    const what = { previous_year: 'the year before', to_date: '"to_date"', trend: '"trend"' }[kind];
    return [{ ...found, got: `${found.got} for ${what}` }];
  }
  return [];
}

/** Checks that a section beyond the limits of one call can be split. */
function checkSplit(
  { section, request }: MetricsRequest,
  at: PlanDiagnostic['path'],
  catalog: Catalog,
  limits: CallLimits,
) {
  const diagnostics: PlanDiagnostic[] = [];
  let calls = 0;
  for (const part of splitMetrics(request, limits.max_metrics)) {
    const split = splitRequest(part, catalog, limits);
    if ('refused' in split) diagnostics.push(splitDiagnostic(split.refused, { section, request }, at, limits));
    else calls += split.requests.length;
  }
  if (diagnostics.length > 0) return diagnostics.slice(0, 1);
  return calls <= MAX_CALLS_PER_TABLE
    ? []
    : [splitDiagnostic({ kind: 'calls', calls }, { section, request }, at, limits)];
}

/** Path of the filter with too many values for this dimension. */
const filterPath = (section: Section, dimension: string, maxValues: number): (string | number)[] => {
  const index = (section.filters ?? []).findIndex((filter) => {
    return filter.dimension === dimension && filter.op !== 'not_in' && new Set(filter.values).size > maxValues;
  });
  return ['filters', index, 'values'];
};

function splitDiagnostic(
  refused: SplitRefusal,
  { section, request }: MetricsRequest,
  at: PlanDiagnostic['path'],
  limits: CallLimits,
): PlanDiagnostic {
  const { from = '', to = '', granularity } = request.time ?? {};
  switch (refused.kind) {
    case 'fold':
      return {
        path: [...at, ...metricPath(section, (section.metrics ?? []).indexOf(refused.metrics[0] ?? ''))],
        expected: `a "granularity", or metrics that may be added up: one value over more than ${limits.max_range_days} days exceeds a call`,
        got: `${quoted(refused.metrics)} over ${from} to ${to}, which is ${dayCount({ from, to })} days`,
        next: 'Add a granularity, shorten the period, or move these metrics into a report of their own.',
      };
    case 'filter':
      return {
        path: [...at, ...filterPath(section, refused.dimension, limits.max_filter_values)],
        expected: `at most ${limits.max_filter_values} values: more are requested in several calls, whose values add up for counts only`,
        got: `${quoted(refused.metrics)} with more values of "${refused.dimension}"`,
        next: `Group by "${refused.dimension}" as well, name fewer values, exclude the others by "not_in", or move these metrics into a section of their own.`,
      };
    case 'bucket':
      return {
        path: [...at, 'granularity'],
        expected: `buckets of at most ${limits.max_range_days} days`,
        got: `"${granularity}"`,
        next: 'Use a finer granularity.',
      };
    case 'groups':
      return {
        path: [...at, 'dimensions'],
        expected: `at most ${limits.max_rows} rows per call, however the groups are split`,
        got: `up to ${refused.rows} rows`,
        next: 'Group by one dimension less, filter it, or set a "limit".',
      };
    case 'calls':
      return {
        path: at,
        expected: `a table of at most ${MAX_CALLS_PER_TABLE} calls`,
        got: `up to ${refused.calls} calls`,
        next: 'Shorten the period, use a coarser granularity, fewer dimensions or a "limit".',
      };
  }
}
