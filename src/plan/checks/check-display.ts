import type { Catalog } from '../../contract/catalog.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { type PlanDiagnostic, suggestion } from './catalog-check.ts';

type Displayed = Pick<Definition, 'sections' | 'units' | 'labels'>;

/** Units of metrics that are no durations, and labels of what this catalog does not know. */
export const checkDisplay = (definition: Displayed, catalog: Catalog): PlanDiagnostic[] => [
  ...checkUnits(definition, catalog),
  ...checkLabels(definition, catalog),
];

function checkUnits({ units = {} }: Displayed, { metrics }: Catalog): PlanDiagnostic[] {
  return Object.entries(units).flatMap(([id, unit]): PlanDiagnostic[] => {
    const metric = metrics.find((each) => each.id === id);
    // The section that names an unknown metric has a diagnostic already.
    if (metric === undefined || metric.unit === 'seconds') return [];
    return [
      {
        path: ['units', id],
        expected: `no unit for "${id}": it is no duration (its unit is ${metric.unit ?? 'none'})`,
        got: unit,
        next: 'Remove it.',
      },
    ];
  });
}

function checkLabels({ sections, labels = {} }: Displayed, { metrics, dimensions }: Catalog): PlanDiagnostic[] {
  const hasList = sections.some(({ list }) => list !== undefined);
  const ids = [...metrics, ...dimensions].map(({ id }) => id);
  const codes = dimensions.flatMap(({ values }) => values.map(({ value }) => value));
  const known = new Set([...ids, ...codes, ...sections.flatMap(({ metrics: own = [] }) => own)]);
  return Object.keys(labels).flatMap((id): PlanDiagnostic[] => {
    // Fields and codes of a list are known only when it is read.
    if (known.has(id) || (hasList && !id.includes('.'))) return [];
    return [
      {
        path: ['labels', id],
        code: 'catalog.unknown',
        expected: "a metric, a dimension or a code of the organization's catalog",
        got: `"${id}"`,
        next: suggestion(id, known, 'Name one of the catalog, or remove it.'),
      },
    ];
  });
}
