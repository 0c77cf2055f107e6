import { type Catalog, isCurrentCount } from '../../contract/catalog.ts';
import type { ReportRequest } from '../../contract/report.ts';
import type { FiscalCalendar } from '../../definitions/periods/fiscal-calendar.ts';
import type { Period } from '../../definitions/periods/period.ts';
import type { ComparisonKind, ToDate } from '../../definitions/schema/comparison.ts';
import type { ReadingSettings } from '../../definitions/schema/readings.ts';
import type { Definition, Section } from '../../definitions/schema/report-definition.ts';
import type { Replacement } from '../plan.ts';
import { readingGap } from '../reading.ts';
import { followReplacements } from '../replacements.ts';
import { buildRequest, type CallLimits, callLimits } from './call.ts';
import { type PartnerRequest, partnerRequests } from './partner-requests.ts';

export interface SectionRequestsInput {
  readonly definition: Definition;
  readonly period: Period;
  /** By section id, only for sections with a period of their own. The others have the report's. */
  readonly sectionPeriods?: Readonly<Record<string, Period>> | undefined;
  readonly catalog: Catalog;
  /** The organization's fiscal year (default: the calendar year) and its readings of current counts. */
  readonly settings?: FiscalCalendar & { readonly readings?: ReadingSettings | undefined };
  /** Stricter limits than the service's. The tables stay the same. */
  readonly limits?: Partial<CallLimits>;
}

/** A section with the requests that it needs alone, regardless of limits. A list and a text have none. */
export interface SectionRequest {
  readonly section: Section;
  readonly replaced: readonly Replacement[];
  readonly period: Period;
  /** Empty for current counts and lists. */
  readonly comparisons: readonly ComparisonKind[];
  readonly toDate?: ToDate;
  readonly request: ReportRequest | undefined;
  readonly partners: readonly PartnerRequest[];
}

/** The requests of all sections, in the order of the file. */
export function sectionRequests(input: SectionRequestsInput): SectionRequest[] {
  const { definition, catalog, settings = {} } = input;
  const currentIds = new Set(catalog.metrics.filter(isCurrentCount).map(({ id }) => id));
  const limits = callLimits(catalog, input.limits);
  // A Map, because a section may be called "constructor".
  const periods = new Map(Object.entries(input.sectionPeriods ?? {}));
  return followReplacements(definition, catalog).map(({ section, replaced }): SectionRequest => {
    const { metrics } = section;
    const period = periods.get(section.id) ?? input.period;
    const of = { section, replaced, period };
    if (metrics === undefined) return { ...of, comparisons: [], request: undefined, partners: [] };
    const current = metrics.every((id) => currentIds.has(id));
    const comparisons = current ? [] : wantedComparisons(section, definition);
    const request = buildRequest({ ...section, metrics }, { period, comparisons, current });
    const toDate = current ? undefined : wantedToDate(section, definition);
    const { trend } = section;
    const partners = partnerRequests({ request, comparisons, toDate, trend }, { catalog, calendar: settings, limits });
    return { ...of, comparisons, ...(toDate === undefined ? {} : { toDate }), request, partners };
  });
}

/** The section's own comparisons, or the report's. A trend only has its own. */
export const wantedComparisons = (
  { layout, compare }: Pick<Section, 'layout' | 'compare'>,
  report: Pick<Definition, 'compare'>,
): readonly ComparisonKind[] => compare ?? (layout === 'trend' ? undefined : report.compare) ?? [];

/** The section's own `to_date`, or the report's. The latter does not apply to a trend. */
export const wantedToDate = (
  { layout, to_date }: Pick<Section, 'layout' | 'to_date'>,
  report: Pick<Definition, 'to_date'>,
): ToDate | undefined => to_date ?? (layout === 'trend' ? undefined : report.to_date);

/** A section with current counts. */
export interface CurrentCountsSection {
  /** The section's id. */
  readonly section: string;
  readonly metrics: readonly string[];
}

/**
 * The sections of current counts without a history, because no readings answer them. Without a catalog: all sections
 * that may be such, i.e. those without granularity.
 */
export function currentCountsSections(
  definition: Definition,
  catalog: Catalog | undefined,
  readings?: ReadingSettings,
): CurrentCountsSection[] {
  const sections =
    catalog === undefined
      ? definition.sections
      : followReplacements(definition, catalog).map((followed) => followed.section);
  const current = catalog && new Set(catalog.metrics.filter(isCurrentCount).map(({ id }) => id));
  return sections.flatMap((section) => {
    const { id, metrics, granularity } = section;
    if (metrics === undefined || granularity !== undefined || readingGap(section, readings) === undefined) return [];
    return current === undefined || metrics.every((metric) => current.has(metric)) ? [{ section: id, metrics }] : [];
  });
}
