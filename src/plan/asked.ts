import { type Catalog, isCurrentCount } from '../contract/catalog.ts';
import type { ReportRequest } from '../contract/report.ts';
import type { Definition, Section } from '../define/definition.ts';
import type { Period } from '../define/period.ts';
import { requestOf } from './call.ts';
import type { Replacement } from './plan.ts';
import { followReplacements } from './replace.ts';

/** A section with the body that would ask for it alone, whatever the limits; a list has none. */
export interface Asked {
  readonly section: Section;
  readonly replaced: readonly Replacement[];
  readonly request: ReportRequest | undefined;
}

/** What each section of the report asks for over the period, in the order of the file. */
export function askedBy(definition: Definition, period: Period, catalog: Catalog): Asked[] {
  const current = new Set(catalog.metrics.filter(isCurrentCount).map(({ id }) => id));
  return followReplacements(definition, catalog).map(({ section, replaced }) => {
    const { metrics } = section;
    if (metrics === undefined) return { section, replaced, request: undefined };
    const isCurrent = metrics.every((id) => current.has(id));
    return { section, replaced, request: requestOf(definition, { ...section, metrics }, period, isCurrent) };
  });
}

/** A section of current counts. */
export interface CountsSection {
  /** Its id. */
  readonly section: string;
  readonly metrics: readonly string[];
}

/**
 * The sections whose figures are current counts. Without a catalog those that may be: current counts take no granularity.
 */
export function countsSections(definition: Definition, catalog: Catalog | undefined): CountsSection[] {
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
