import { type Catalog, isCurrentCount } from '../contract/catalog.ts';
import type { ReportRequest } from '../contract/report.ts';
import type { Period } from '../definitions/periods/period.ts';
import type { Definition, Section } from '../definitions/schema/report-definition.ts';
import { buildRequest } from './call.ts';
import type { Replacement } from './plan.ts';
import { followReplacements } from './replacements.ts';

/** A section with the request for it alone, regardless of limits; a list has none. */
export interface SectionRequest {
  readonly section: Section;
  readonly replaced: readonly Replacement[];
  readonly request: ReportRequest | undefined;
}

/** The requests of all sections over the period, in the order of the file. */
export function sectionRequests(definition: Definition, period: Period, catalog: Catalog): SectionRequest[] {
  const current = new Set(catalog.metrics.filter(isCurrentCount).map(({ id }) => id));
  return followReplacements(definition, catalog).map(({ section, replaced }) => {
    const { metrics } = section;
    if (metrics === undefined) return { section, replaced, request: undefined };
    const isCurrent = metrics.every((id) => current.has(id));
    return { section, replaced, request: buildRequest(definition, { ...section, metrics }, period, isCurrent) };
  });
}

/** A section of current counts. */
export interface CurrentCountsSection {
  /** Section id. */
  readonly section: string;
  readonly metrics: readonly string[];
}

/**
 * The sections with current counts only. Without a catalog all that may be: sections without granularity.
 */
export function currentCountsSections(definition: Definition, catalog: Catalog | undefined): CurrentCountsSection[] {
  const sections =
    catalog === undefined
      ? definition.sections
      : followReplacements(definition, catalog).map((followed) => followed.section);
  const current = catalog && new Set(catalog.metrics.filter(isCurrentCount).map(({ id }) => id));
  return sections.flatMap(({ id, metrics, granularity }) => {
    if (metrics === undefined || granularity !== undefined) return [];
    return current === undefined || metrics.every((metric) => current.has(metric)) ? [{ section: id, metrics }] : [];
  });
}
