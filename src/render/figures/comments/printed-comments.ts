import type { Comment } from '../../../definitions/commentary/printed-review.ts';
import type { Dataset } from '../../../fetch/dataset.ts';
import { figureReferences, resolveNote } from './references.ts';

/** A comment as its author typed it. */
export interface TypedComment {
  /** Id of the section; null: the comment is on the whole report. */
  readonly section: string | null;
  readonly text: string;
  /** The name of its author. */
  readonly author: string;
  /** Epoch ms. */
  readonly at: number;
}

/**
 * Adds comments to a dataset as they are printed: parsed, with figures in place of references. Comments on the whole
 * report are first, then the order of the sections. Comments on sections that the report does not have are left out.
 * Comments that the dataset already has stay. Pure.
 * @param dataset with statuses
 */
export function withComments(dataset: Dataset, typed: readonly TypedComment[], locale: string): Dataset {
  if (typed.length === 0) return dataset;
  const known = figureReferences(dataset, locale);
  const order: readonly (string | null)[] = [null, ...dataset.tables.map(({ id }) => id)];
  const comments = order.flatMap((section) =>
    typed
      .filter((comment) => comment.section === section)
      .map(
        ({ text, author, at }): Comment => ({
          section,
          blocks: resolveNote(text, known),
          author,
          at: new Date(at).toISOString(),
        }),
      ),
  );
  return comments.length === 0 ? dataset : { ...dataset, comments: [...(dataset.comments ?? []), ...comments] };
}
