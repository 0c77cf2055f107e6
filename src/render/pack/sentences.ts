import { figureKey } from '../figures/figure-identity.ts';
import { headlineFigures, sectionFigures } from '../figures/headline-figures.ts';
import { buildHeadlines, byImportance, type HeadlineFigure, headlineText } from '../figures/headlines.ts';
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
 * A takeaway says what only its section shows: a judged row, or the total of another scope or period. The report's own totals
 * are headlines. Of the metrics that headlines are wanted of, if some are.
 */
export function packSentences({ dataset, locale, calendar }: PackContext): PackSentences {
  const takeaways = new Map<string, string>();
  // A dataset without headlines has no sentences.
  for (const table of dataset.headlines === undefined ? [] : dataset.tables) {
    const own = sectionFigures(dataset, table, locale, calendar)
      .filter(({ place, key, metric }) => key !== figureKey(table, metric) || place !== 'own')
      .map((figure) => ({ ...figure, place: 'own' as const }));
    const [first] = buildHeadlines(own, dataset.headlineMetrics, locale);
    if (first !== undefined) takeaways.set(table.id, first);
  }
  return { attention: attentionTo(headlineFigures(dataset, locale, calendar), locale), takeaways };
}
