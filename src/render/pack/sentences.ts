import { headlineFigures } from '../figures/headline-figures.ts';
import { buildHeadlines, type HeadlineFigure, headlineText } from '../figures/headlines.ts';
import type { Attention } from './pack.ts';
import type { PackContext } from './pack-context.ts';

/** What the sentences of a pack are about: its headlines, the takeaways of its sections and what needs attention. */
export interface PackSentences {
  readonly attention: readonly Attention[];
  /** By section id. */
  readonly takeaways: ReadonlyMap<string, string>;
}

function attentionTo(figures: readonly HeadlineFigure[], locale: string): Attention[] {
  const found = new Map<string, Attention>();
  for (const wanted of ['breached', 'watch'] as const) {
    for (const figure of figures) {
      const text = figure.judged?.status === wanted ? headlineText(figure, locale) : undefined;
      // The same sentence of several sections is about the same figure.
      if (text === undefined || found.has(text)) continue;
      found.set(text, { status: wanted, section: figure.section, metric: figure.metric, text });
    }
  }
  return [...found.values()];
}

/** A takeaway is the most important sentence of a section; of the metrics that headlines are wanted of, if some are. */
export function packSentences({ dataset, locale, calendar }: PackContext): PackSentences {
  const figures = headlineFigures(dataset, locale, calendar);
  const takeaways = new Map<string, string>();
  // A dataset without headlines has no sentences.
  for (const { id } of dataset.headlines === undefined ? [] : dataset.tables) {
    const own = figures.filter(({ section }) => section === id);
    const [first] = buildHeadlines(own, dataset.headlineMetrics, locale);
    if (first !== undefined) takeaways.set(id, first);
  }
  return { attention: attentionTo(figures, locale), takeaways };
}
