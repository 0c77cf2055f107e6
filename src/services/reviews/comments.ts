import { DocketError } from '../../base/error.ts';
import { MAX_NOTE_LENGTH } from '../../definitions/commentary/note.ts';
import { noteLength, noteProblem } from '../../definitions/commentary/parse-note.ts';
import type { ReviewInputs } from '../../run/review/review-inputs.ts';
import type { CommentWarning, ReviewView } from './review-service.ts';
import type { ReviewedFigures } from './reviewed-figures.ts';

/** A comment as it is stored: line breaks as `\n`, without control characters and space around it. Throws `review.comment_invalid`. */
export function normalizeComment(typed: string): string {
  const text = typed
    .replace(/\p{Cs}/gu, '\ufffd')
    .replace(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
    .replace(/\t/g, ' ')
    .replace(/(?!\n)\p{Cc}/gu, '')
    .trim();
  const problem = noteProblem(text);
  if (problem === undefined) return text;
  throw problem === 'too_long'
    ? new DocketError('review.comment_invalid', 'The comment is too long.', {
        expected: `at most ${MAX_NOTE_LENGTH} characters`,
        got: String(noteLength(text)),
      })
    : new DocketError('review.comment_invalid', 'The comment is empty.', {
        expected: 'a text with words or numbers',
        next: 'To remove a comment, withdraw it.',
      });
}

/** The sections that can be commented, in the order of the report: those with figures. */
export function commentableSections(
  { definition }: ReviewedFigures,
  { sections }: ReviewInputs,
): ReviewView['sections'] {
  return definition.sections
    .filter(({ layout }) => layout !== 'text')
    .map(({ id, title }) => ({
      id,
      title: title ?? id,
      required: sections.some((each) => each.id === id && each.required),
      references: [],
    }));
}

/**
 * Checks a comment against the figures. Throws `review.comment_invalid` for a section that cannot be commented, and for a
 * reference that names no figure.
 */
export function checkComment(
  section: string | null,
  text: string | null,
  figures: ReviewedFigures,
): readonly CommentWarning[] {
  const known = figures.definition.sections.filter(({ layout }) => layout !== 'text').map(({ id }) => id);
  // A comment whose section cannot have one is withdrawn all the same.
  if (section !== null && text !== null && !known.includes(section)) {
    throw new DocketError('review.comment_invalid', 'The report has no such section.', {
      expected: `one of ${known.join(', ')}`,
      got: section,
    });
  }
  return [];
}
