import { distinctFigures, type TotalFigure, totalFigures } from '../figures/total-figures.ts';
import type { Pack } from './pack.ts';
import type { PackContext } from './pack-context.ts';
import { buildScorecard, sectionScorecard } from './scorecard.ts';

/** Metrics of a summary without a scorecard section. */
const MAX_SUMMARY_METRICS = 8;

/** The figure of a metric for the summary: unfiltered and of the whole period where there is such a one. */
const bestFigure = (figures: readonly TotalFigure[], metric: string): TotalFigure | undefined => {
  const own = figures.filter(({ view }) => view.source.name === metric);
  return own.find(({ scope }) => scope === '') ?? own.find(({ table }) => table.filters.length === 0) ?? own[0];
};

/**
 * The scorecard of the first printed scorecard section. Without one the totals of the metrics that headlines are wanted
 * of, else of the first eight unfiltered metrics of printed sections; undefined where there are none.
 */
export function buildSummary(context: PackContext): Pack['summary'] {
  const { dataset, locale, columnsOf } = context;
  const { tables, headlineMetrics } = dataset;
  const section = tables.find(({ layout, print }) => layout?.kind === 'scorecard' && print !== false);
  if (section !== undefined) return { of: section.id, scorecard: sectionScorecard(section, context) };
  const all = distinctFigures(tables.flatMap((table) => totalFigures(dataset, table, locale, columnsOf(table))));
  const candidates =
    headlineMetrics === undefined
      ? all.filter(({ table }) => table.filters.length === 0 && table.print !== false)
      : all;
  const metrics =
    headlineMetrics ?? [...new Set(candidates.map(({ view }) => view.source.name))].slice(0, MAX_SUMMARY_METRICS);
  const figures = metrics.flatMap((metric) => bestFigure(candidates, metric) ?? []);
  return figures.length === 0 ? undefined : { scorecard: buildScorecard([{ title: null, figures }], context) };
}
