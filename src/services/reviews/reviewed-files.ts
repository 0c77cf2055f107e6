import { readManifest } from '../../deliver/archive/run-folder/run-metadata.ts';
import type { RunFiles, RunRef } from '../../deliver/archive/storage/archive-storage.ts';
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
      return bytes === undefined ? undefined : chunksOf(bytes);
    },
    put: readOnly,
    putPair: readOnly,
    list: () => reviews.list(run, contentFile(content, '').replace(/\/$/, '')),
  };
}

async function* chunksOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}
