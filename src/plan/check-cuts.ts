import type { Catalog } from '../contract/catalog.ts';
import type { Section } from '../define/definition.ts';
import { MAX_CALLS_PER_TABLE } from './arrange.ts';
import { type MetricsRequest, splitMetrics } from './assemble.ts';
import { dayCount } from './buckets.ts';
import type { CallLimits } from './call-limits.ts';
import type { PlanDiagnostic } from './check.ts';
import { type SplitRefusal, splitRequest } from './cut.ts';

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
