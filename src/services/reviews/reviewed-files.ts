import { DocketError } from '../../base/error.ts';
import { readManifest } from '../../deliver/archive/run-folder/run-metadata.ts';
import type { RunFiles, RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import type { Dataset } from '../../fetch/dataset.ts';
import { DEFAULT_LOCALE } from '../../i18n/messages.ts';
import { type FrozenInputs, openFigures } from '../../run/review/frozen-figures.ts';
import { contentFile, type Reviews } from '../../run/review/load-review.ts';
import { createRunFileReader, type RunFileReader } from '../runs/run-file-reader.ts';
import type { ReviewView } from './review-service.ts';

/**
 * Reads the files that people look at before they approve a content. They are stored like a run's files, with a
 * manifest, and each is verified against its hash there.
 */
export const reviewedFileReader = (reviews: Reviews, content: string): RunFileReader =>
  createRunFileReader({ runFiles: (run) => reviewedFiles(reviews, run, content) });

/** What each pack of a content says. Empty for a report without `split`, and until the worker has made the files. */
export async function reviewedPacks(reviews: Reviews, run: RunRef, content: string): Promise<ReviewView['packs']> {
  const { packs = [] } = (await readManifest(reviewedFiles(reviews, run, content))) ?? {};
  return packs.map(({ value, label, slug, reason, manifest }) => ({
    value,
    label,
    slug,
    headlines: manifest?.headlines ?? [],
    held: reason ?? null,
  }));
}

/** The stored files of a content, read-only. */
export function reviewedFiles(reviews: Reviews, run: RunRef, content: string): RunFiles {
  const get = (name: string) => reviews.get(run, contentFile(content, name));
  const readOnly = () => Promise.reject(new Error('what was reviewed is written once, by the worker'));
  return {
    location: `the review of run ${run.id}`,
    get,
    stream: async (name) => {
      const bytes = await get(name);
      return bytes === undefined ? undefined : toChunks(bytes);
    },
    put: readOnly,
    putPair: readOnly,
    list: () => reviews.list(run, contentFile(content, '').replace(/\/$/, '')),
  };
}

async function* toChunks(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

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
    throw new DocketError('review.comment_invalid', `Nobody gets a pack for "${value}" from this run.`, {
      ...(packs === undefined ? {} : { expected: packs.map(({ desk }) => desk.value).join(', ') }),
      next: 'Leave the value out: the comment is then in every pack.',
    });
  }
  return { definition, settings, locale, dataset: await (pack?.dataset ?? reader.dataset)() };
}
