import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import type { Dataset } from '../../fetch/dataset.ts';
import { DEFAULT_LOCALE } from '../../i18n/messages.ts';
import { type FrozenInputs, openFigures } from '../../run/review/frozen-figures.ts';
import type { Reviews } from '../../run/review/load-review.ts';

/** What comments are about: the frozen report, and its figures. */
export interface FrozenReport extends Pick<FrozenInputs, 'definition' | 'settings'> {
  /** Of the files. */
  readonly locale: string;
  /** Judged, without the rows of lists. */
  readonly dataset: Dataset;
}

/** Throws `archive.corrupt` for a missing or changed file. @param figures SHA-256 (hex) */
export async function loadFrozenReport(reviews: Reviews, run: RunRef, figures: string): Promise<FrozenReport> {
  const reader = await openFigures(reviews, run, figures);
  const { definition, settings } = reader.inputs;
  const locale = definition.locale ?? settings.locale ?? DEFAULT_LOCALE;
  return { definition, settings, locale, dataset: await reader.dataset() };
}
