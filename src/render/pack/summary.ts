import { ownFilters, sharedFilters } from '../figures/figure-identity.ts';
import { distinctFigures, type TotalFigure, totalFigures } from '../figures/total-figures.ts';
import type { Pack, PackSection, PackText } from './pack.ts';
import type { PackContext } from './pack-context.ts';
import { buildScorecard, sectionScorecard } from './scorecard.ts';

/** The most metrics of a summary without a scorecard section. */
const MAX_SUMMARY_METRICS = 8;
/** The most characters of texts on the first page, which must stay one page. */
const MAX_REMARKS = 1_000;

/** The figure of a metric for the summary, preferably one of the report's period and scope. */
const bestFigure = (figures: readonly TotalFigure[], metric: string): TotalFigure | undefined => {
  const own = figures.filter(({ view }) => view.source.name === metric);
  return own.find(({ scope }) => scope === '') ?? own.find(({ place }) => place === 'own') ?? own[0];
};

/**
 * The scorecard of the first printed scorecard section. Without one: the totals of the metrics selected for headlines,
 * or of the first eight unfiltered metrics in printed sections. Undefined if there are none. The report of one `split`
 * value uses only figures of that value.
 */
export function buildSummary(context: PackContext): Pack['summary'] {
  const { dataset, locale, columnsOf } = context;
  const { tables, headlineMetrics } = dataset;
  const section = tables.find(
    ({ layout, print, unsplit }) => layout?.kind === 'scorecard' && print !== false && !unsplit,
  );
  if (section !== undefined) return { of: section.id, scorecard: sectionScorecard(section, context) };
  const all = distinctFigures(
    tables.flatMap((table) => (table.unsplit ? [] : totalFigures(dataset, table, locale, columnsOf(table)))),
    locale,
    dataset,
  );
  const shared = sharedFilters(tables);
  const candidates =
    headlineMetrics === undefined
      ? all.filter(({ table }) => ownFilters(table, shared).length === 0 && table.print !== false)
      : all;
  const metrics =
    headlineMetrics ?? [...new Set(candidates.map(({ view }) => view.source.name))].slice(0, MAX_SUMMARY_METRICS);
  const figures = metrics.flatMap((metric) => bestFigure(candidates, metric) ?? []);
  return figures.length === 0 ? undefined : { scorecard: buildScorecard([{ title: null, figures }], context) };
}

/**
 * What readers of the summary must know about its figures, without repetitions: what they cover, when they were
 * computed, their filters, the days compared with others, gaps and stale responses. What makes them incomplete is in
 * the completeness statement.
 */
export function summaryNotes(sections: readonly PackSection[], summary: Pack['summary']): readonly string[] {
  if (summary === undefined) return [];
  const { of, scorecard } = summary;
  const shown = new Set(
    of === undefined ? scorecard.groups.flatMap(({ rows }) => rows.map(({ section }) => section)) : [of],
  );
  const notes = sections
    .filter(({ table }) => shown.has(table.id))
    .flatMap(({ empty, facts, notes: own }) => [...(empty === undefined ? [] : [empty]), ...facts, ...own]);
  return [...new Set(notes)];
}

/**
 * The printed texts directly after the summary's section, or first in a report without one, as far as they fit on the
 * first page.
 * @param scorecard id of the summary's section
 */
export function selectRemarks(sections: readonly PackSection[], scorecard: string | undefined): PackText[] {
  const from = sections.findIndex(({ table }) => table.id === scorecard) + 1;
  const remarks: PackText[] = [];
  let characters = 0;
  for (const section of sections.slice(from)) {
    if (section.kind !== 'text' || !section.printed || section.table.description === undefined) break;
    characters += section.paragraphs.join('').length;
    if (characters > MAX_REMARKS) break;
    remarks.push({
      of: section.table.id,
      title: section.title,
      paragraphs: section.paragraphs,
      comments: section.comments,
    });
  }
  return remarks;
}
