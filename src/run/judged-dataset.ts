import type { Catalog } from '../contract/catalog.ts';
import { DEFAULT_SMALL } from '../definitions/schema/org-settings.ts';
import { reportTargets } from '../definitions/schema/targets.ts';
import { judgedSections } from '../definitions/split.ts';
import type { Dataset } from '../fetch/dataset.ts';
import { DEFAULT_LOCALE } from '../i18n/messages.ts';
import { followedMetrics, followedTargets } from '../plan/replacements.ts';
import { headlineFigures } from '../render/figures/headline-figures.ts';
import { buildHeadlines } from '../render/figures/headlines.ts';
import { judgeDataset } from '../render/figures/judge.ts';
import type { RunContext } from './run-context.ts';

/** The same locale as for the files: the digest freezes both. */
export const resolveLocale = ({ definition, settings }: Pick<RunContext, 'definition' | 'settings'>): string =>
  definition.locale ?? settings.locale ?? DEFAULT_LOCALE;

/** Adds the statuses of the figures, and the sentences about them, to a dataset. */
export function judgedDataset(
  dataset: Dataset,
  { definition, settings }: Pick<RunContext, 'definition' | 'settings'>,
  catalog: Catalog,
): Dataset {
  const { headline, targets: own = [] } = definition;
  const targets = reportTargets(
    followedTargets(settings.targets ?? [], definition, catalog),
    followedTargets(own, definition, catalog),
  );
  const ruled = { ...dataset, small: settings.small ?? DEFAULT_SMALL };
  const judged = judgeDataset(ruled, targets, { sections: judgedSections(definition), calendar: settings });
  const locale = resolveLocale({ definition, settings });
  const metrics = headline && followedMetrics(headline, definition, catalog);
  return { ...judged, headlines: buildHeadlines(headlineFigures(judged, locale, settings), metrics, locale) };
}
