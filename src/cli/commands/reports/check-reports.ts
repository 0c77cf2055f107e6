import { dirname } from 'node:path';
import { toDocketError } from '../../../base/error.ts';
import { FORMATS } from '../../../compose/built-in-kinds.ts';
import type { Catalog } from '../../../contract/catalog.ts';
import { type Diagnostic, formatDiagnostic } from '../../../definitions/diagnostics/diagnostic.ts';
import type { Definitions } from '../../../definitions/load/load-definitions.ts';
import type { OrgSettings } from '../../../definitions/schema/org-settings.ts';
import type { Definition } from '../../../definitions/schema/report-definition.ts';
import type { PartialValue } from '../../../definitions/yaml/check-schema.ts';
import { RECENT_CATALOG_MAX_AGE_MS } from '../../../fetch/cache/catalog-cache.ts';
import { checkBases, provisionalWarnings } from '../../../plan/checks/check-bases.ts';
import { checkOrgDisplay } from '../../../plan/checks/check-display.ts';
import { splitWarnings } from '../../../plan/checks/check-split.ts';
import { checkTargets } from '../../../plan/checks/check-targets.ts';
import { checkReadings } from '../../../plan/checks/reading-check.ts';
import { type FileDiagnostics, resolveFormat } from '../../../render/formats/format.ts';
import { catalogDiagnostics, planDiagnostic } from '../../../services/definitions/catalog-diagnostics.ts';
import {
  dataReadyWarnings,
  type PreparationView,
  preparationWarnings,
  viewPreparation,
} from '../../../services/preparations/explain-preparation.ts';

/** Fetches catalogs. `catalogOf` returns undefined, and reports why, if an organization has none. */
export interface Catalogs {
  readonly catalogOf: (settings: OrgSettings, maxAgeMs?: number) => Promise<Catalog | undefined>;
  close(): Promise<void>;
}

/** What would be prepared for the next slot of a report. */
interface PreparedSlot {
  /** `org/report`. */
  readonly name: string;
  readonly prepare: PreparationView;
}

/** Empty for reports with errors, and for reports without `prepare`. */
function preparedSlots(
  { value, lost }: PartialValue<Definition>,
  settings: OrgSettings,
  catalog: Catalog,
  now: number,
): readonly PreparedSlot[] {
  if (lost.length > 0) return [];
  try {
    const prepare = viewPreparation({ definition: value, settings }, catalog, now);
    return prepare === undefined ? [] : [{ name: `${value.org}/${value.report}`, prepare }];
  } catch (thrown) {
    // The errors of this report are already shown.
    if (toDocketError(thrown).code === 'plan.invalid') return [];
    throw thrown;
  }
}

interface ReportFindings {
  /** Errors in definitions. */
  readonly errors: readonly Diagnostic[];
  /** Warnings of the catalog about valid definitions. */
  readonly warnings: readonly Diagnostic[];
  /** Problems with `prepare` and `data_ready`. */
  readonly unprepared: readonly Diagnostic[];
  /** For reports with `prepare`: what would be prepared for the next slot. */
  readonly prepared: readonly PreparedSlot[];
  /** Problems in the workbooks of the reports. */
  readonly workbooks: FileDiagnostics;
}

/** Checks reports against the catalogs of their organizations. Checks templates of workbooks even without a catalog. */
export async function checkReports(
  reports: readonly PartialValue<Definition>[],
  jobs: Definitions,
  now: number,
  catalogs: Catalogs | undefined,
): Promise<Omit<ReportFindings, 'unprepared'>> {
  const found: ReportFindings[] = [];
  for (const org of new Set(reports.map(({ value }) => value.org))) {
    const settings = jobs.orgs.get(org);
    if (settings === undefined) continue;
    const own = reports.filter(({ value }) => value.org === org);
    const findingsBy = async (catalog: Catalog | undefined): Promise<ReportFindings> => ({
      errors:
        catalog === undefined
          ? []
          : [
              ...settingsErrors(org, settings, jobs, catalog),
              ...own.flatMap((report) => catalogDiagnostics(report, settings, catalog, now)),
            ],
      warnings:
        catalog === undefined
          ? []
          : own.flatMap(({ value, source }) =>
              [...provisionalWarnings(value, catalog), ...splitWarnings(value, catalog)].map(planDiagnostic(source)),
            ),
      unprepared: [
        ...dataReadyWarnings(jobs.sources.get(org), settings),
        ...own.flatMap((report) => preparationWarnings(report, settings, catalog, now)),
      ],
      prepared: catalog === undefined ? [] : own.flatMap((report) => preparedSlots(report, settings, catalog, now)),
      workbooks: await workbookFindings(own, settings, catalog),
    });
    const cached = await catalogs?.catalogOf(settings);
    const first = await findingsBy(cached);
    const isClean = first.errors.length === 0 && first.workbooks.errors.length === 0;
    // A cached catalog may lack recently added metrics.
    const recent =
      cached === undefined || isClean ? undefined : await catalogs?.catalogOf(settings, RECENT_CATALOG_MAX_AGE_MS);
    found.push(recent === undefined ? first : await findingsBy(recent));
  }
  return {
    errors: found.flatMap(({ errors }) => errors),
    warnings: found.flatMap(({ warnings, unprepared }) => [...warnings, ...unprepared]),
    prepared: found.flatMap(({ prepared }) => prepared),
    workbooks: {
      errors: distinct(found.flatMap(({ workbooks }) => workbooks.errors)),
      warnings: distinct(found.flatMap(({ workbooks }) => workbooks.warnings)),
    },
  };
}

/** Removes duplicates, because two reports may fill the same workbook. */
const distinct = (diagnostics: readonly Diagnostic[]): readonly Diagnostic[] => [
  ...new Map(diagnostics.map((diagnostic) => [formatDiagnostic(diagnostic), diagnostic])).values(),
];

/**
 * Problems in the workbooks of reports without errors. In other reports, they may disappear once the errors are fixed.
 */
async function workbookFindings(
  reports: readonly PartialValue<Definition>[],
  settings: OrgSettings,
  catalog: Catalog | undefined,
): Promise<FileDiagnostics> {
  const named = reports.filter(({ value, lost }) => value.files !== undefined && lost.length === 0);
  if (named.length === 0) return { errors: [], warnings: [] };
  const found: FileDiagnostics[] = [];
  for (const { value, source } of named) {
    const report = { definition: value, settings, folder: dirname(source.file), catalog };
    for (const output of value.outputs) {
      const tools = await resolveFormat(output, FORMATS).format.fileTools?.();
      if (tools !== undefined) found.push(await tools.check(output, report));
    }
  }
  return { errors: found.flatMap(({ errors }) => errors), warnings: found.flatMap(({ warnings }) => warnings) };
}

/** Settings in `org.yaml` and `targets.yaml` that the catalog does not allow. */
function settingsErrors(org: string, settings: OrgSettings, jobs: Definitions, catalog: Catalog): Diagnostic[] {
  const orgSource = jobs.sources.get(org);
  const targetSource = jobs.targetSources.get(org);
  return [
    ...(orgSource === undefined || settings.readings === undefined
      ? []
      : checkReadings(settings.readings, catalog).map(planDiagnostic(orgSource))),
    ...(orgSource === undefined ? [] : checkOrgDisplay(settings, catalog).map(planDiagnostic(orgSource))),
    ...(orgSource === undefined ? [] : checkBases(settings.bases ?? {}, catalog).map(planDiagnostic(orgSource))),
    ...(targetSource === undefined
      ? []
      : checkTargets(settings.targets ?? [], catalog).map(planDiagnostic(targetSource))),
  ];
}
