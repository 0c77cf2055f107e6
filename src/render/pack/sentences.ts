import { headlineFigures, sectionFigures } from '../figures/headline-figures.ts';
import { buildHeadlines, byImportance, type HeadlineFigure, headlineText, isBehind } from '../figures/headlines.ts';
import { largestMover } from './movers.ts';
import type { Attention } from './pack.ts';
import type { PackContext } from './pack-context.ts';

/** What the sentences of a pack are about: its headlines, the takeaways of its sections and what needs attention. */
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
 * A takeaway says what only its section shows: its worst group, the one that changed most, or the total of another scope or
 * period. The report's own totals are headlines. Of the metrics that headlines are wanted of, if some are.
 */
export function packSentences(context: PackContext): PackSentences {
  const { dataset, locale, calendar } = context;
  const takeaways = new Map<string, string>();
  // A dataset without headlines has no sentences.
  for (const table of dataset.headlines === undefined ? [] : dataset.tables) {
    // Its sentence would be about the last bucket, while the list begins with the worst one.
    if (table.layout?.kind === 'exceptions' && table.granularity !== null) continue;
    const own = sectionFigures(dataset, table, locale, calendar)
      .filter(({ place }) => place !== 'own')
      .map((figure) => ({ ...figure, place: 'own' as const }));
    const firstOf = (figures: typeof own) => buildHeadlines(figures, dataset.headlineMetrics, locale)[0];
    const first = firstOf(own.filter(isBehind)) ?? largestMover(table, context) ?? firstOf(own);
    if (first !== undefined) takeaways.set(table.id, first);
  }
  return { attention: attentionTo(headlineFigures(dataset, locale, calendar), locale), takeaways };
}
