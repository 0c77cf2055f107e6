import type { OrgSettings } from './schema/org-settings.ts';
import type { ReportFile } from './schema/report-definition.ts';
import { toMeasure } from './schema/values/units.ts';

/** How figures are shown: the units of durations, and other names by id. */
export type Display = Pick<ReportFile, 'units' | 'labels'>;

const merged = <Said>(
  general: Readonly<Record<string, Said>> | undefined,
  own: Readonly<Record<string, Said>> | undefined,
): Record<string, Said> | undefined =>
  general === undefined && own === undefined ? undefined : { ...general, ...own };

/** The units and labels of a report: its own take precedence over those in `org.yaml`. */
export function mergeDisplay({ units, labels }: Display, organization: Display): Display {
  // The report's unit for `…_p50` also applies to `…_p90`, because both are shown in one unit.
  const own = new Set(Object.keys(units ?? {}).map(toMeasure));
  const general =
    organization.units &&
    Object.fromEntries(Object.entries(organization.units).filter(([metric]) => !own.has(toMeasure(metric))));
  const display = { units: merged(general, units), labels: merged(organization.labels, labels) };
  return {
    ...(display.units === undefined ? {} : { units: display.units }),
    ...(display.labels === undefined ? {} : { labels: display.labels }),
  };
}

/**
 * The units and labels for templates of workbooks. Their cells are formatted for one unit, so units from the
 * organization change nothing there: only those of the report do.
 */
export const templateDisplay = (
  report: Display & Pick<ReportFile, 'workbook_units'>,
  organization: Pick<OrgSettings, 'units' | 'labels'>,
): Display => {
  const { units: _, ...display } = mergeDisplay(report, organization);
  const units = report.workbook_units === 'report' ? mergeDisplay(report, organization).units : report.units;
  return { ...display, ...(units === undefined ? {} : { units }) };
};
