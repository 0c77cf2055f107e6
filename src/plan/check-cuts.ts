import type { Catalog } from '../contract/catalog.ts';
import type { Section } from '../define/definition.ts';
import { MAX_PIECES } from './arrange.ts';
import { type Question, spreadMetrics } from './assemble.ts';
import { daysOf } from './buckets.ts';
import type { CallLimits } from './call-limits.ts';
import type { PlanFault } from './check.ts';
import { cutRequest, type Refusal } from './cut.ts';

const quoted = (words: readonly string[]): string => words.map((word) => `"${word}"`).join(', ');

/** What of a section goes beyond one call and cannot be answered by several that amount to the same. */
export function checkCuts({ section, request }: Question, at: PlanFault['path'], catalog: Catalog, limits: CallLimits) {
  const faults: PlanFault[] = [];
  let calls = 0;
  for (const part of spreadMetrics(request, limits.max_metrics)) {
    const cut = cutRequest(part, catalog, limits);
    if ('refused' in cut) faults.push(faultOf(cut.refused, { section, request }, at, limits));
    else calls += cut.pieces.length;
  }
  if (faults.length > 0) return faults.slice(0, 1);
  return calls <= MAX_PIECES ? [] : [faultOf({ of: 'calls', calls }, { section, request }, at, limits)];
}

/** Where the filter stands in the file that has too many values of this dimension. */
const filterPath = (section: Section, dimension: string, most: number): (string | number)[] => {
  const index = (section.filters ?? []).findIndex((filter) => {
    return filter.dimension === dimension && filter.op !== 'not_in' && new Set(filter.values).size > most;
  });
  return ['filters', index, 'values'];
};

function faultOf(
  refused: Refusal,
  { section, request }: Question,
  at: PlanFault['path'],
  limits: CallLimits,
): PlanFault {
  const { from = '', to = '', granularity } = request.time ?? {};
  const days = from === '' ? 0 : daysOf({ from, to });
  switch (refused.of) {
    case 'fold':
      return {
        path: [...at, 'metrics', (section.metrics ?? []).indexOf(refused.metrics[0] ?? '')],
        expected: `a "granularity", or metrics that may be added up: one figure over more than ${limits.max_range_days} days is more than a call gives`,
        got: `${quoted(refused.metrics)} over ${from} to ${to}, which is ${days} days`,
        next: 'Add a granularity, shorten the period, or move these metrics into a report of their own.',
      };
    case 'filter':
      return {
        path: [...at, ...filterPath(section, refused.dimension, limits.max_filter_values)],
        expected: `at most ${limits.max_filter_values} values: more are asked in several calls, whose figures add up for counts alone`,
        got: `${quoted(refused.metrics)} with more values of "${refused.dimension}"`,
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
        expected: `a table of at most ${MAX_PIECES} calls`,
        got: `up to ${refused.calls} calls`,
        next: 'Shorten the period, use a coarser granularity, fewer dimensions or a "limit".',
      };
  }
}
