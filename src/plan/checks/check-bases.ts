import type { BaseSettings } from '../../contract/bases.ts';
import { type Catalog, isAdditive, isProvisional, type Metric } from '../../contract/catalog.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { type PlanDiagnostic, suggestion } from './catalog-check.ts';

/** Reports what the catalog does not allow in `bases` of org.yaml. Paths are those of org.yaml. Pure. */
export function checkBases(bases: BaseSettings, { metrics }: Catalog): PlanDiagnostic[] {
  const known = new Map(metrics.map((metric) => [metric.id, metric]));
  return Object.entries(bases).flatMap(([id, base]): PlanDiagnostic[] => {
    const path = ['bases', id];
    const metric = known.get(id);
    if (metric === undefined || (metric.unit !== 'ratio' && metric.unit !== 'seconds')) {
      const isKnown = metric !== undefined;
      return [
        {
          path,
          ...(isKnown ? {} : { code: 'catalog.unknown' as const }),
          expected: "a ratio or a duration of the organization's catalog",
          got: isKnown ? `"${id}", whose unit is ${metric.unit ?? 'none'}` : `"${id}"`,
          next: isKnown ? 'Remove it.' : suggestion(id, known.keys(), 'Name one of the catalog, or remove it.'),
        },
      ];
    }
    const count = known.get(base);
    if (base === 'none' || (count !== undefined && isBaseOf(count, metric))) return [];
    const usable = metrics.filter((each) => isBaseOf(each, metric)).map((each) => each.id);
    return [
      {
        path,
        ...(count === undefined ? { code: 'catalog.unknown' as const } : {}),
        expected: `none, or a plain count of the catalog that counts by "${metric.time_field}" as "${id}" does`,
        got: count === undefined ? `"${base}"` : `"${base}", ${describeMetric(count)}`,
        next: suggestion(
          base,
          usable,
          usable.length === 0 ? 'Write none.' : `Use one of ${usable.join(', ')}, or none.`,
        ),
      },
    ];
  });
}

const isBaseOf = (count: Metric, metric: Metric): boolean =>
  isAdditive(count) && count.time_field === metric.time_field;

const describeMetric = (metric: Metric): string =>
  isAdditive(metric) ? `which counts by "${metric.time_field}"` : 'which is no plain count';

/**
 * Warns about metrics that the catalog describes as "so far" but that are not known to change later. A description is
 * no contract, so such a metric is compared like any other.
 */
export const provisionalWarnings = (
  { sections }: Pick<Definition, 'sections'>,
  { metrics }: Pick<Catalog, 'metrics'>,
): PlanDiagnostic[] =>
  sections.flatMap(({ metrics: asked = [] }, section) =>
    asked.flatMap((id, index): PlanDiagnostic[] => {
      const metric = metrics.find((each) => each.id === id);
      if (metric === undefined || isProvisional(metric) || !/\bso far\b/i.test(metric.description)) return [];
      return [
        {
          path: ['sections', section, 'metrics', index],
          expected: 'a metric whose past figures no longer change',
          got: `"${id}", which the catalog describes as "so far"`,
          next: 'Its changes may only show that less time has passed since. Read them with care.',
        },
      ];
    }),
  );
