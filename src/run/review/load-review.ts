import { DocketError } from '../../base/error.ts';
import type { ReviewArchive } from '../../deliver/archive/reviews/review-archive.ts';
import { parseMetadata } from '../../deliver/archive/run-folder/run-metadata.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import { reviewState } from './fold-review.ts';
import type { ReviewEvent } from './review-event.ts';
import { type ReviewInputs, reviewInputsSchema } from './review-inputs.ts';
import type { ReviewState } from './review-state.ts';

/** The reviews in an archive, with the events that Docket writes. */
export type Reviews = ReviewArchive<ReviewEvent>;

export interface LoadedReview {
  readonly events: readonly ReviewEvent[];
  /** The inputs of the last figures, even while new figures are fetched. Undefined before the first. */
  readonly inputs: ReviewInputs | undefined;
  readonly state: ReviewState;
}

/** Name of a file that is frozen with the figures, e.g. `review.json`. */
export const figuresFile = (figures: string, name: string): string => `figures/${figures}/${name}`;
/** Name of a file that people looked at, e.g. `manifest.json`. */
export const contentFile = (content: string, name: string): string => `content/${content}/${name}`;

/** Loads the current review of a run. Throws `archive.corrupt`, `archive.unreachable`. */
export async function loadReview(reviews: Reviews, run: RunRef): Promise<LoadedReview> {
  const events = await reviews.events(run);
  const last = events.findLast((event) => event.type === 'figures');
  const inputs = last === undefined ? undefined : await loadInputs(reviews, run, last.figures);
  return { events, inputs, state: reviewState(events, inputs) };
}

async function loadInputs(reviews: Reviews, run: RunRef, figures: string): Promise<ReviewInputs> {
  const name = figuresFile(figures, 'review.json');
  const bytes = await reviews.get(run, name);
  const location = `the review of run ${run.id}`;
  if (bytes !== undefined) return parseMetadata(location, name, bytes, reviewInputsSchema);
  throw new DocketError('archive.corrupt', `The figures of ${location} are missing: ${name}.`, {
    where: location,
    next: 'Nothing of this run is sent. Restore the archive from a backup, or cancel the run and trigger the report again.',
  });
}
