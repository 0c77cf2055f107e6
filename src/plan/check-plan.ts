import type { Catalog } from '../contract/catalog.ts';
import type { Period } from '../definitions/periods/period.ts';
import type { Definition, Section } from '../definitions/schema/report-definition.ts';
import { dayCount } from './buckets.ts';
import { type MetricsRequest, splitMetrics } from './build-calls.ts';
import { type CallLimits, callLimits } from './call.ts';
import { findCatalogDiagnostics, type PlanDiagnostic } from './catalog-check.ts';
import { MAX_CALLS_PER_TABLE } from './partition.ts';
import { sectionRequests } from './section-requests.ts';
import { type SplitRefusal, splitRequest } from './split-request.ts';

/** What a plan is made from and checked against. */
export interface CheckPlanInput {
  readonly definition: Definition;
  readonly period: Period;
  readonly catalog: Catalog;
  /** Keeps calls smaller than the service's own limits ask; the tables stay the same. */
  readonly limits?: Partial<CallLimits>;
}

/** A person corrects some and asks again; to tell of each value of very long lists would take minutes. */
export const MAX_PLAN_DIAGNOSTICS = 100;

/**
 * What cannot be asked: of this catalog at all, or over this period. In the order of the file, and no more than
 * `MAX_PLAN_FAULTS`. Pure.
 */
export function checkPlan({ definition, period, catalog, limits }: CheckPlanInput): PlanDiagnostic[] {
  const asked = sectionRequests(definition, period, catalog);
  const faults: PlanDiagnostic[] = [];
  const sections = asked.map(({ section }) => section);
  for (const fault of findCatalogDiagnostics({ ...definition, sections }, catalog)) {
    if (faults.push(fault) === MAX_PLAN_DIAGNOSTICS) return faults;
  }
  for (const [index, { section, request }] of asked.entries()) {
    // How it would be cut can only be told of a section that may be asked at all.
    if (request === undefined || faults.some(({ path }) => path[1] === index)) continue;
    faults.push(...checkSplit({ section, request }, ['sections', index], catalog, callLimits(catalog, limits)));
  }
  // Those of a section are in order already.
  return faults.sort((a, b) => Number(a.path[1]) - Number(b.path[1])).slice(0, MAX_PLAN_DIAGNOSTICS);
}

const quoteAll = (words: readonly string[]): string => words.map((word) => `"${word}"`).join(', ');

/** What of a section goes beyond one call and cannot be answered by several that amount to the same. */
export function checkSplit(
  { section, request }: MetricsRequest,
  at: PlanDiagnostic['path'],
  catalog: Catalog,
  limits: CallLimits,
) {
  const faults: PlanDiagnostic[] = [];
  let calls = 0;
  for (const part of splitMetrics(request, limits.max_metrics)) {
    const cut = splitRequest(part, catalog, limits);
    if ('refused' in cut) faults.push(splitDiagnostic(cut.refused, { section, request }, at, limits));
    else calls += cut.requests.length;
  }
  if (faults.length > 0) return faults.slice(0, 1);
  return calls <= MAX_CALLS_PER_TABLE
    ? []
    : [splitDiagnostic({ of: 'calls', calls }, { section, request }, at, limits)];
}

/** Where the filter stands in the file that has too many values of this dimension. */
const filterPath = (section: Section, dimension: string, most: number): (string | number)[] => {
  const index = (section.filters ?? []).findIndex((filter) => {
    return filter.dimension === dimension && filter.op !== 'not_in' && new Set(filter.values).size > most;
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
  const days = from === '' ? 0 : dayCount({ from, to });
  switch (refused.of) {
    case 'fold':
      return {
        path: [...at, 'metrics', (section.metrics ?? []).indexOf(refused.metrics[0] ?? '')],
        expected: `a "granularity", or metrics that may be added up: one figure over more than ${limits.max_range_days} days is more than a call gives`,
        got: `${quoteAll(refused.metrics)} over ${from} to ${to}, which is ${days} days`,
        next: 'Add a granularity, shorten the period, or move these metrics into a report of their own.',
      };
    case 'filter':
      return {
        path: [...at, ...filterPath(section, refused.dimension, limits.max_filter_values)],
        expected: `at most ${limits.max_filter_values} values: more are asked in several calls, whose figures add up for counts alone`,
        got: `${quoteAll(refused.metrics)} with more values of "${refused.dimension}"`,
        next: `Group by "${refused.dimension}" as well, name fewer values, leave the others out by "not_in", or move these metrics into a section of their own.`,
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
        expected: `at most ${limits.max_rows} rows a call, however the groups are parted`,
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
