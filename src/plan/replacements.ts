import type { Catalog } from '../contract/catalog.ts';
import type { ChartSpec, Definition, Section } from '../definitions/schema/report-definition.ts';
import { type Target, targetKey } from '../definitions/schema/targets.ts';
import type { Replacement } from './plan.ts';

/** A section with its deprecated metrics replaced. */
export interface SectionWithReplacements {
  readonly section: Section;
  readonly replaced: readonly Replacement[];
}

/**
 * Replaces deprecated metrics by their successors, repeatedly, if the report follows replacements (specification §9). A
 * metric without a successor in the organization's catalog stays.
 */
export function followReplacements(
  { sections, follow_replacements }: Definition,
  catalog: Catalog,
): SectionWithReplacements[] {
  if (!follow_replacements) return sections.map((section) => ({ section, replaced: [] }));
  const successor = (id: string): string => findSuccessor(id, catalog);
  return sections.map((section) => {
    const { metrics, groups, order, chart } = section;
    const replaced = [...new Set(metrics)].flatMap((from) => {
      const to = successor(from);
      return to === from ? [] : [{ from, to }];
    });
    if (metrics === undefined || replaced.length === 0) return { section, replaced };
    return {
      section: {
        ...section,
        metrics: metrics.map(successor),
        ...(groups === undefined ? {} : { groups: replaceInGroups(groups, successor) }),
        ...(order === undefined
          ? {}
          : { order: order.map(({ by, dir }) => ({ by: metrics.includes(by) ? successor(by) : by, dir })) }),
        ...(chart === undefined ? {} : { chart: replaceInChart(chart, successor) }),
      },
      replaced,
    };
  });
}

/**
 * Moves the targets of deprecated metrics to their successors, if the report follows replacements. A target for the
 * successor itself takes precedence.
 */
export function followedTargets<Entry extends Target>(
  targets: readonly Entry[],
  { follow_replacements }: Pick<Definition, 'follow_replacements'>,
  catalog: Catalog,
): readonly Entry[] {
  if (!follow_replacements) return targets;
  const own = new Set(targets.map(targetKey));
  return targets.flatMap((target) => {
    const metric = findSuccessor(target.metric, catalog);
    if (metric === target.metric) return [target];
    const followed = { ...target, metric };
    return own.has(targetKey(followed)) ? [] : [followed];
  });
}

/** Metric ids with deprecated ones replaced, if the report follows replacements. */
export const followedMetrics = (
  ids: readonly string[],
  { follow_replacements }: Pick<Definition, 'follow_replacements'>,
  catalog: Catalog,
): readonly string[] => (follow_replacements ? [...new Set(ids.map((id) => findSuccessor(id, catalog)))] : ids);

/** If two groups would have the same metric after a replacement, it stays in the first. */
function replaceInGroups(
  groups: NonNullable<Section['groups']>,
  successor: (id: string) => string,
): NonNullable<Section['groups']> {
  const seen = new Set<string>();
  return groups.flatMap(({ title, metrics }) => {
    const own = [...new Set(metrics.map(successor))].filter((id) => !seen.has(id));
    for (const id of own) seen.add(id);
    return own.length === 0 ? [] : [{ title, metrics: own }];
  });
}

function replaceInChart(chart: ChartSpec, successor: (id: string) => string): ChartSpec {
  if (typeof chart === 'string') return chart;
  const { series, secondary, ...rest } = chart;
  const followed = (ids: readonly string[]) => [...new Set(ids.map(successor))];
  return {
    ...rest,
    ...(series === undefined ? {} : { series: followed(series) }),
    ...(secondary === undefined ? {} : { secondary: followed(secondary) }),
  };
}

function findSuccessor(id: string, { metrics }: Catalog): string {
  const seen = new Set<string>();
  let current = id;
  // Prevents an endless loop if the catalog has a cycle.
  while (!seen.has(current)) {
    seen.add(current);
    const metric = metrics.find((candidate) => candidate.id === current);
    const next = metric?.deprecated_at == null ? undefined : metric.replaced_by;
    if (next == null || !metrics.some((candidate) => candidate.id === next)) return current;
    current = next;
  }
  return id;
}
