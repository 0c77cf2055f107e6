import { isCurrentCount } from '../../contract/catalog.ts';
import type { ValuePath } from '../../definitions/yaml/source-file.ts';
import { readingAdvice, readingGap } from '../reading.ts';
import { yearBeforeInComparison } from '../requests/partner-requests.ts';
import type { SectionRequest, SectionRequestsInput } from '../requests/section-requests.ts';
import { type PlanDiagnostic, quoted } from './catalog-check.ts';

export type ComparisonCheckInput = Pick<SectionRequestsInput, 'definition' | 'catalog' | 'settings'>;

/** The path of the section's own field, or of the report's. */
const comparePath = (
  { section, comparisons }: Pick<SectionRequest, 'section' | 'comparisons'>,
  index: number,
): ValuePath => [
  ...(section.compare === undefined ? [] : ['sections', index]),
  'compare',
  comparisons.indexOf('previous_year'),
];

/**
 * Warns about comparisons and periods that can never have figures. They do not stop a run, which shows such figures as
 * undefined.
 */
export function comparisonDiagnostics(
  requests: readonly SectionRequest[],
  input: ComparisonCheckInput,
): PlanDiagnostic[] {
  return [...yearsWithoutData(requests, input), ...historiesOfCurrentCounts(requests, input)];
}

const HISTORY_FIELDS = ['period', 'compare'] as const;

/** Fields that need past values, in a section of current counts. */
function historiesOfCurrentCounts(
  requests: readonly SectionRequest[],
  { catalog, settings }: ComparisonCheckInput,
): PlanDiagnostic[] {
  const current = new Set(catalog.metrics.filter(isCurrentCount).map(({ id }) => id));
  return requests.flatMap(({ section }, index) => {
    const { metrics } = section;
    if (metrics === undefined || !metrics.every((id) => current.has(id))) return [];
    const gap = readingGap(section, settings?.readings);
    const histories =
      gap === undefined
        ? []
        : HISTORY_FIELDS.filter((field) => section[field] !== undefined).map((field) => ({
            path: ['sections', index, field],
            expected: `no "${field}" with current counts: the service knows only those of now`,
            got: `"${field}" with ${quoted(metrics)}`,
            next: `${readingAdvice(gap)} Or remove it.`,
          }));
    return [
      ...histories,
      // Neither the service nor readings provide it: states on several days do not add up.
      ...(section.to_date === undefined
        ? []
        : [
            {
              path: ['sections', index, 'to_date'],
              expected: 'no "to_date" with current counts: the states of several days have no sum',
              got: `"to_date" with ${quoted(metrics)}`,
              next: 'Remove it; "granularity: month" or "compare: previous_year" shows how they developed, with daily readings.',
            },
          ]),
    ];
  });
}

interface YearWithoutData {
  readonly path: ValuePath;
  readonly sections: string[];
  /** The last day of the year before. */
  to: string;
  /** The first day with data. */
  from: string;
}

/** Warns about `previous_year` if no metric of the section has data by then. Once for each `compare`. */
function yearsWithoutData(
  requests: readonly SectionRequest[],
  { catalog, settings = {} }: ComparisonCheckInput,
): PlanDiagnostic[] {
  const firstDays = new Map(catalog.metrics.map(({ id, data_available: data }) => [id, data?.from ?? '']));
  const found = new Map<string, YearWithoutData>();
  for (const [index, one] of requests.entries()) {
    const compared =
      one.request !== undefined && one.comparisons.includes('previous_year')
        ? yearBeforeInComparison(one.request, settings)
        : undefined;
    const partners = one.partners.filter(({ kind }) => kind === 'previous_year').map(({ range }) => range);
    const ends = [...partners, ...(compared === undefined ? [] : [compared])].map(({ to }) => to);
    const starts = (one.request?.metrics ?? []).map((id) => firstDays.get(id) ?? '');
    const [to] = ends.sort().slice(-1);
    const [from] = starts.sort();
    if (to === undefined || from === undefined || from <= to) continue;
    const path = comparePath(one, index);
    const entry = found.get(path.join()) ?? { path, sections: [], to, from };
    found.set(path.join(), {
      ...entry,
      sections: [...entry.sections, one.section.id],
      to: to > entry.to ? to : entry.to,
      from: from < entry.from ? from : entry.from,
    });
  }
  return [...found.values()].map(({ path, sections, to, from }) => ({
    path,
    expected: 'a year before in which the metrics have data',
    got: `"previous_year" up to ${to} of ${quoted(sections)}, whose data begins on ${from}`,
    next: 'Leave "previous_year" out until then, or give these sections a "compare" of their own.',
  }));
}
