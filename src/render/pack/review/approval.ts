import type { PackContext } from '../pack-context.ts';
import { dayText, personName } from './comments.ts';

/** Names that the line has; the manifest has all. */
const MAX_NAMES = 5;

/** `Approved by Ada Lovelace on 3 November 2026`; undefined without an approval. */
export function approvalText(context: Pick<PackContext, 'dataset' | 'locale' | 'words'>): string | undefined {
  const { by = [] } = context.dataset.approval ?? {};
  if (by.length === 0) return undefined;
  const people = by.slice(0, MAX_NAMES).map(({ name, at }) => ({ name: personName(name), day: dayText(at, context) }));
  return context.words.review.approved(people, by.length - people.length);
}
