import { isolateBidi } from '../../base/text/bidi.ts';
import type { Table } from '../../fetch/dataset.ts';
import { iterateRows, wrongFigures } from '../../fetch/rows.ts';
import { shownFigures } from '../figures/change-text.ts';
import { valueColumns } from '../figures/columns.ts';
import { isFewChange } from '../figures/few.ts';
import { findComparableDays, headlineFigures, sectionFigures } from '../figures/headline-figures.ts';
import {
  buildHeadlines,
  byImportance,
  changeWords,
  type HeadlineFigure,
  headlineText,
  isBehind,
} from '../figures/headlines.ts';
import { changeIn } from '../figures/quantity.ts';
import { buildFigureContexts } from './cells.ts';
import type { Attention } from './pack.ts';
import type { PackContext } from './pack-context.ts';

/** The sentences of a pack: its headlines, the takeaways of its sections, and what needs attention. */
export interface PackSentences {
  readonly attention: readonly Attention[];
  /** By section id. */
  readonly takeaways: ReadonlyMap<string, string>;
}

function attentionTo(figures: readonly HeadlineFigure[], locale: string): Attention[] {
  const ordered = byImportance(figures);
  return (['breached', 'watch'] as const).flatMap((status) =>
    ordered.flatMap((figure) => {
      const text =
        figure.judged?.status === status && figure.judged.few === undefined ? headlineText(figure, locale) : undefined;
      return text === undefined ? [] : [{ status, section: figure.section, metric: figure.metric, text }];
    }),
  );
}

/**
 * Writes the sentences of a pack. A takeaway says what only its section shows: its worst group, the group that changed
 * most, or a total of another scope or period. The report's own totals are headlines. If the definition selects metrics
 * for headlines, only these are used.
 */
export function packSentences(context: PackContext): PackSentences {
  const { dataset, locale, calendar } = context;
  const takeaways = new Map<string, string>();
  // A dataset without headlines gets no sentences.
  for (const table of dataset.headlines === undefined ? [] : dataset.tables) {
    // The sentence would be about the last bucket, while the list begins with the worst one.
    if (table.layout?.kind === 'exceptions' && table.granularity !== null) continue;
    const own = sectionFigures(dataset, table, locale, calendar)
      .filter(({ place }) => place !== 'own')
      .map((figure) => ({ ...figure, place: 'own' as const }));
    const buildFirst = (figures: typeof own) => buildHeadlines(figures, dataset.headlineMetrics, locale)[0];
    const first = buildFirst(own.filter(isBehind)) ?? largestMover(table, context) ?? buildFirst(own);
    if (first !== undefined) takeaways.set(table.id, first);
  }
  return { attention: attentionTo(headlineFigures(dataset, locale, calendar), locale), takeaways };
}

/**
 * The group of a table whose figure differs most from the one it is first compared with, as a sentence about the first
 * metric that allows one. The difference is the one that readers compute from the table. Groups with few cases are not
 * considered, and the sentence says so if one of them differs more.
 */
function largestMover(table: Table, context: PackContext): string | undefined {
  const { dataset, locale, words, calendar } = context;
  const { small, headlineMetrics } = dataset;
  const { comparisons, granularity, layout } = table;
  const [comparison] = comparisons;
  const days = findComparableDays(table, calendar);
  const columns = context.columnsOf(table);
  const keys = columns.filter(({ source }) => source.kind === 'dimension');
  // Without rules for few cases, as in figures of an older version, nothing tells a large change from chance.
  if (small === undefined || comparison === undefined || days === undefined || keys.length === 0) return undefined;
  if (granularity !== null || (layout !== undefined && layout.kind !== 'table')) return undefined;
  const { kind } = comparison;
  const metrics = valueColumns(columns);
  const wrong = wrongFigures(table);
  const { judgements, besideOf: getFigureContext } = buildFigureContexts(context, table);
  for (const view of headlineMetrics?.flatMap((id) => metrics.filter(({ source }) => source.name === id)) ?? metrics) {
    const { source } = view;
    const { name, unit } = source;
    const moves = [...iterateRows(table.rows)].flatMap((row) => {
      const compared = row.compare?.[kind];
      const change = changeIn(source, row.values, compared);
      const [now, before] = [row.values[name], compared?.values[name]];
      if (change.direction === null || typeof now !== 'number' || typeof before !== 'number') return [];
      if (wrong.inRow(name, row.values)) return [];
      const few = isFewChange(dataset, source, row, compared);
      return [{ row, change, before, few, size: Math.abs(now - before) }];
    });
    const [largest] = moves.filter(({ few }) => !few).toSorted((one, other) => other.size - one.size);
    // A single group cannot have changed more or less than others.
    if (moves.length < 2 || largest === undefined || largest.size === 0) continue;
    const { row, change, before } = largest;
    const shown = shownFigures(view, row, getFigureContext(view, judgements.get(name)?.ofRow(row)), locale);
    const { direction, size } = shown.changeFrom(before, change);
    const difference = change.kind === 'relative' ? shown.differenceFrom(before) : size;
    if (direction === null || difference === undefined) continue;
    return words.status.largestChange(
      isolateBidi(source.label),
      keys.map((key) => isolateBidi(context.format(key.read(row), key.quantity))).join(', '),
      changeWords(unit, direction, difference, { kind, days }, locale),
      moves.some((move) => move.few && move.size > largest.size),
    );
  }
  return undefined;
}
