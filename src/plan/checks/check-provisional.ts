import { type Catalog, isProvisional } from '../../contract/catalog.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import type { PlanDiagnostic } from './catalog-check.ts';

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
