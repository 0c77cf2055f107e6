import type { Catalog } from '../../contract/catalog.ts';
import type { Display } from '../../definitions/display.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { type PlanDiagnostic, suggestion } from './catalog-check.ts';

type Displayed = Pick<Definition, 'sections' | 'units' | 'labels'>;

/** Reports units for metrics that are not durations, and labels for what this catalog does not know. */
export const checkDisplay = (definition: Displayed, catalog: Catalog): PlanDiagnostic[] => [
  ...checkUnits(definition, catalog),
  ...checkLabels(
    definition,
    definition.sections.flatMap(({ metrics = [] }) => metrics),
    definition.sections.some(({ list }) => list !== undefined),
    catalog,
  ),
];

/** Checks the units and labels in `org.yaml`. Its labels may also name fields and codes of a list. */
export const checkOrgDisplay = (display: Display, catalog: Catalog): PlanDiagnostic[] => [
  ...Object.keys(display.units ?? {}).flatMap((id) =>
    unknownDiagnostic(['units', id], id, new Set(catalog.metrics.map((metric) => metric.id)), 'a metric'),
  ),
  ...checkUnits(display, catalog),
  ...checkLabels(display, [], true, catalog),
];

function unknownDiagnostic(
  path: PlanDiagnostic['path'],
  id: string,
  known: ReadonlySet<string>,
  what: string,
): PlanDiagnostic[] {
  if (known.has(id)) return [];
  return [
    {
      path,
      code: 'catalog.unknown',
      expected: `${what} of the organization's catalog`,
      got: `"${id}"`,
      next: suggestion(id, known, 'Name one of the catalog, or remove it.'),
    },
  ];
}

function checkUnits({ units = {} }: Display, { metrics }: Catalog): PlanDiagnostic[] {
  return Object.entries(units).flatMap(([id, unit]): PlanDiagnostic[] => {
    const metric = metrics.find((each) => each.id === id);
    // An unknown metric already has a diagnostic in the section that names it.
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

function checkLabels(
  { labels = {} }: Display,
  requested: readonly string[],
  hasList: boolean,
  { metrics, dimensions }: Catalog,
): PlanDiagnostic[] {
  const ids = [...metrics, ...dimensions].map(({ id }) => id);
  const codes = dimensions.flatMap(({ values }) => values.map(({ value }) => value));
  const known = new Set([...ids, ...codes, ...requested]);
  // Fields and codes of a list are unknown until it is read.
  return Object.keys(labels).flatMap((id) =>
    hasList && !id.includes('.') ? [] : unknownDiagnostic(['labels', id], id, known, 'a metric, a dimension or a code'),
  );
}
