import { DocketError } from '../../base/error.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import type { Dataset } from '../../fetch/dataset.ts';
import { DEFAULT_LOCALE } from '../../i18n/messages.ts';
import { type FrozenInputs, openFigures } from '../../run/review/frozen-figures.ts';
import type { Reviews } from '../../run/review/load-review.ts';

/** The subject of comments: the frozen report with its figures. */
export interface FrozenReport extends Pick<FrozenInputs, 'definition' | 'settings'> {
  /** Locale of the files. */
  readonly locale: string;
  /** Judged. Lists have no rows. */
  readonly dataset: Dataset;
}

/**
 * Throws `archive.corrupt` for a missing or changed file, and `review.comment_invalid` for a value without a pack.
 * @param figures SHA-256 (hex)
 * @param value with `split`: the pack whose figures to load; absent: the first one
 */
export async function loadFrozenReport(
  reviews: Reviews,
  run: RunRef,
  figures: string,
  value?: string,
): Promise<FrozenReport> {
  const reader = await openFigures(reviews, run, figures);
  const { definition, settings } = reader.inputs;
  const locale = definition.locale ?? settings.locale ?? DEFAULT_LOCALE;
  const packs = (await reader.split())?.packs.filter(
    ({ held, dataset }) => held === undefined && dataset !== undefined,
  );
  const pack = value === undefined ? packs?.[0] : packs?.find(({ desk }) => desk.value === value);
  if (value !== undefined && pack === undefined) {
    throw new DocketError('review.comment_invalid', `The run has no pack of "${value}" that somebody gets.`, {
      ...(packs === undefined ? {} : { expected: packs.map(({ desk }) => desk.value).join(', ') }),
      next: 'Leave the value out: the comment is then in every pack.',
    });
  }
  return { definition, settings, locale, dataset: await (pack?.dataset ?? reader.dataset)() };
}
