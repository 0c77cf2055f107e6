import type { Catalog } from '../contract/catalog.ts';
import type { ChartSpec, Definition, Section } from '../define/definition.ts';
import type { Replacement } from './plan.ts';

/** A section as it is asked, and which of its metrics stand for deprecated ones. */
export interface Followed {
  readonly section: Section;
  readonly replaced: readonly Replacement[];
}

/**
 * The sections with each deprecated metric's successor in its place, if the report follows replacements (specification
 * §9); a successor that is deprecated too is followed further. A metric without a successor in the organization's
 * catalog is asked as it is.
 */
export function followReplacements({ sections, follow_replacements }: Definition, catalog: Catalog): Followed[] {
  if (!follow_replacements) return sections.map((section) => ({ section, replaced: [] }));
  const successor = (id: string): string => successorOf(id, catalog);
  return sections.map((section) => {
    const { metrics, order, chart } = section;
    const replaced = [...new Set(metrics)].flatMap((from) => {
      const to = successor(from);
      return to === from ? [] : [{ from, to }];
    });
    if (metrics === undefined || replaced.length === 0) return { section, replaced };
    return {
      section: {
        ...section,
        metrics: metrics.map(successor),
        ...(order === undefined
          ? {}
          : { order: order.map(({ by, dir }) => ({ by: metrics.includes(by) ? successor(by) : by, dir })) }),
        ...(chart === undefined ? {} : { chart: chartOf(chart, successor) }),
      },
      replaced,
    };
  });
}

function chartOf(chart: ChartSpec, successor: (id: string) => string): ChartSpec {
  if (typeof chart === 'string') return chart;
  const { series, secondary, ...rest } = chart;
  const followed = (ids: readonly string[]) => [...new Set(ids.map(successor))];
  return {
    ...rest,
    ...(series === undefined ? {} : { series: followed(series) }),
    ...(secondary === undefined ? {} : { secondary: followed(secondary) }),
  };
}

function successorOf(id: string, { metrics }: Catalog): string {
  const seen = new Set<string>();
  let current = id;
  // The catalog is another's: a circle in it must not hold us.
  while (!seen.has(current)) {
    seen.add(current);
    const metric = metrics.find((candidate) => candidate.id === current);
    const next = metric?.deprecated_at == null ? undefined : metric.replaced_by;
    if (next == null || !metrics.some((candidate) => candidate.id === next)) return current;
    current = next;
  }
  return id;
}
