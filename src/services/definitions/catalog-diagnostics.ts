import type { Catalog } from '../../contract/catalog.ts';
import type { Diagnostic } from '../../definitions/diagnostics/diagnostic.ts';
import { resolveRunPeriods } from '../../definitions/periods/period.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import type { PartialValue } from '../../definitions/yaml/check-schema.ts';
import { isStandIn } from '../../definitions/yaml/edit-value.ts';
import { diagnosticAt } from '../../definitions/yaml/parse-yaml.ts';
import type { SourceFile, ValuePath } from '../../definitions/yaml/source-file.ts';
import type { PlanDiagnostic } from '../../plan/checks/catalog-check.ts';
import { checkPlan } from '../../plan/checks/check-plan.ts';
import { splitCheck } from '../../plan/checks/check-split.ts';
import { checkTargets } from '../../plan/checks/check-targets.ts';

/** Makes a diagnostic of a plan error, with its place in the file. */
export const planDiagnostic =
  (source: SourceFile) =>
  ({ path, ...text }: PlanDiagnostic): Diagnostic =>
    diagnosticAt(source, path, { code: 'catalog.not_allowed', ...text });

/** Fields of a report that determine the days of its sections' requests. */
const TIME_FIELDS: readonly unknown[] = ['period', 'compare', 'to_date', 'timezone'];

/**
 * Whether an error at this path may depend on the requested days. For an entry of these lists, only the catalog
 * matters.
 */
const dependsOnTime = ([list, , field, entry]: ValuePath): boolean =>
  list === 'sections' && !(entry !== undefined && (field === 'dimensions' || field === 'filters'));

/**
 * Finds what the catalog does not allow in a report. For unreadable parts of the report, reports only names that the
 * catalog does not have: other errors may be caused by what is missing.
 * @param now determines the period to check, which stands for later ones
 */
export function catalogDiagnostics(
  { value: definition, source, lost }: PartialValue<Definition>,
  settings: OrgSettings,
  catalog: Catalog,
  now: number,
): Diagnostic[] {
  const periods = resolveRunPeriods(definition, settings, now);
  const isDamaged = (path: ValuePath): boolean =>
    lost.some(
      ([field, index]) =>
        (TIME_FIELDS.includes(field) && dependsOnTime(path)) ||
        (field === path[0] && (index === undefined || path[1] === undefined || index === path[1])),
    );
  const planned = checkPlan({ definition, settings, ...periods, catalog });
  return [
    ...planned,
    ...checkTargets(definition.targets ?? [], catalog),
    ...(lost.length === 0 && planned.length === 0 ? splitCheck({ definition, settings, ...periods, catalog }) : []),
  ]
    .filter(({ path }) => !isStandIn(source.tree, path))
    .map(planDiagnostic(source))
    .filter(({ code, path = [] }) => code === 'catalog.unknown' || !isDamaged(path));
}
