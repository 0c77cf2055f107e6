import { type Catalog, isCurrentCount } from '../../contract/catalog.ts';
import { didYouMean } from '../../definitions/diagnostics/suggest.ts';
import type { ReadingSettings } from '../../definitions/schema/readings.ts';
import type { PlanDiagnostic } from './catalog-check.ts';

/** Reports what the catalog does not allow in `readings` of org.yaml. Paths are those of org.yaml. Pure. */
export function checkReadings({ metrics, by }: ReadingSettings, catalog: Catalog): PlanDiagnostic[] {
  const current = catalog.metrics.filter(isCurrentCount);
  const currentIds = current.map(({ id }) => id);
  const dimensionIds = catalog.dimensions.map(({ id }) => id);
  const suggest = (id: string, known: readonly string[]): string =>
    didYouMean(id, known) ?? `use one of ${known.slice(0, 12).join(', ')}`;
  return [
    ...metrics.flatMap((id, index): PlanDiagnostic[] => {
      if (currentIds.includes(id)) return [];
      const isKnown = catalog.metrics.some((metric) => metric.id === id);
      return [
        {
          path: ['readings', 'metrics', index],
          expected: "a current count of the organization's catalog",
          got: isKnown ? `"${id}", which has a history of its own` : `"${id}"`,
          next: isKnown ? 'Remove it: the service has it for past days.' : suggest(id, currentIds),
        },
      ];
    }),
    ...by.flatMap((id, index): PlanDiagnostic[] => {
      const path = ['readings', 'by', index];
      if (!dimensionIds.includes(id)) {
        return [
          {
            path,
            expected: "a dimension of the organization's catalog",
            got: `"${id}"`,
            next: suggest(id, dimensionIds),
          },
        ];
      }
      const accepted = current.some((metric) => metrics.includes(metric.id) && metric.dimensions.includes(id));
      if (accepted) return [];
      const usable = current.filter(({ dimensions }) => dimensions.includes(id)).map((metric) => metric.id);
      return [
        {
          path,
          expected: 'a dimension that one of the metrics of "readings" accepts',
          got: `"${id}"`,
          next:
            usable.length === 0
              ? 'Remove it: no current count accepts it.'
              : `Remove it, or add ${usable.join(' or ')}.`,
        },
      ];
    }),
  ];
}
