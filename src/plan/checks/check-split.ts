import type { Catalog, Dimension } from '../../contract/catalog.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { buildDesk, deskDefinition, isSplitSection } from '../../definitions/split.ts';
import { compilePlan } from '../compile.ts';
import { splitRefusals } from '../split/split-plan.ts';
import { type PlanDiagnostic, suggestion } from './catalog-check.ts';
import type { CheckPlanInput } from './check-plan.ts';

const findDimension = ({ split }: Pick<Definition, 'split'>, { dimensions }: Catalog): Dimension | undefined =>
  dimensions.find(({ id }) => id === split?.by);

/** The values in `to` that the catalog does not list, and the number of values that it lists. */
function unknownValues(
  { split }: Pick<Definition, 'split'>,
  dimension: Dimension,
): { unknown: string[]; known: number } {
  const listed = new Set(dimension.values.map(({ value }) => value));
  const named = split === undefined || typeof split.to === 'string' ? [] : Object.keys(split.to);
  const unknown = named.filter((value) => !listed.has(value));
  return { unknown, known: named.length - unknown.length };
}

const unknownDiagnostic = (value: string, { id, values }: Dimension): PlanDiagnostic => ({
  path: ['split', 'to', value],
  code: 'catalog.unknown',
  expected: `a value of "${id}" in the organization's catalog`,
  got: `"${value}"`,
  next: suggestion(
    value,
    values.map((each) => each.value),
    'Correct it: nobody gets a pack for it, and the owner is notified.',
  ),
});

/** Reports what the catalog does not allow in a report's `split`. Empty for a report without it. */
export function splitCheck(input: CheckPlanInput & { readonly settings?: OrgSettings | undefined }): PlanDiagnostic[] {
  const { definition, catalog, settings } = input;
  const { split } = definition;
  if (split === undefined) return [];
  const dimension = findDimension(definition, catalog);
  if (dimension === undefined) {
    const ids = catalog.dimensions.map(({ id }) => id);
    return [
      {
        path: ['split', 'by'],
        code: 'catalog.unknown',
        expected: "a dimension of the organization's catalog",
        got: `"${split.by}"`,
        next: suggestion(split.by, ids, `\`docket catalog --org ${definition.org}\` lists them.`),
      },
    ];
  }
  const [first] = dimension.values;
  if (first === undefined) {
    const expected = `a dimension with values; the catalog lists none of "${split.by}"`;
    return [{ path: ['split', 'by'], expected, got: `"${split.by}"`, next: 'Split by another dimension.' }];
  }
  const { unknown, known } = unknownValues(definition, dimension);
  const found = [
    ...metricDiagnostics(definition, catalog, split.by),
    ...(known === 0 ? unknown.slice(0, 1).map((value) => unknownDiagnostic(value, dimension)) : []),
  ];
  if (found.length > 0 || settings === undefined) return found;
  const one = compilePlan({
    ...input,
    settings,
    definition: deskDefinition(definition, buildDesk(first.value, first.label)),
  });
  return splitRefusals(one, split.by, catalog, input.limits).map(({ section, refused }): PlanDiagnostic => {
    const index = definition.sections.findIndex(({ id }) => id === section);
    return {
      path: ['sections', index],
      code: 'split.not_supported',
      expected: `a section that can be requested for all values of "${split.by}" at once`,
      got:
        refused.kind === 'groups'
          ? `up to ${refused.rows} rows`
          : refused.kind === 'calls'
            ? `up to ${refused.calls} calls`
            : refused.kind,
      next: 'Shorten its period, use a coarser granularity, or write split: false.',
    };
  });
}

/** Warns about values for which nobody gets a report, because the catalog does not list them. */
export function splitWarnings(definition: Pick<Definition, 'split'>, catalog: Catalog): PlanDiagnostic[] {
  const dimension = findDimension(definition, catalog);
  if (dimension === undefined) return [];
  const { unknown, known } = unknownValues(definition, dimension);
  return known === 0 ? [] : unknown.map((value) => unknownDiagnostic(value, dimension));
}

const metricDiagnostics = ({ sections }: Definition, { metrics }: Catalog, by: string): PlanDiagnostic[] =>
  sections.flatMap((section, index) =>
    (isSplitSection(section) ? (section.metrics ?? []) : []).flatMap((id, position): PlanDiagnostic[] => {
      const metric = metrics.find((each) => each.id === id);
      if (metric === undefined || metric.dimensions.includes(by)) return [];
      return [
        {
          path: ['sections', index, ...(section.groups === undefined ? ['metrics', position] : ['groups'])],
          expected: `metrics that "${by}" applies to, because the section is split by it`,
          got: `"${id}"`,
          next: 'Write split: false for the section, or remove the metric.',
        },
      ];
    }),
  );
