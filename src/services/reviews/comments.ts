import { DocketError } from '../../base/error.ts';
import { stripInvisible } from '../../base/text/bidi.ts';
import { commentLength, commentProblem, MAX_COMMENT_LENGTH } from '../../definitions/commentary/comment-text.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { contradictions } from '../../render/figures/comments/contradictions.ts';
import { figureReferences, referenceText, unknownReferences } from '../../render/figures/comments/references.ts';
import type { ReviewInputs } from '../../run/review/review-inputs.ts';
import type { CommentWarning, ReviewView } from './review-service.ts';
import type { FrozenReport } from './reviewed-files.ts';

/**
 * A comment in its stored form: line breaks as `\n`, without control characters, invisible characters and surrounding
 * space. Throws `review.comment_invalid`.
 */
export function normalizeComment(typed: string): string {
  const text = stripInvisible(typed)
    .replace(/\p{Cs}/gu, '\ufffd')
    .replace(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
    .replace(/\t/g, ' ')
    .replace(/(?!\n)\p{Cc}/gu, '')
    .trim();
  const problem = commentProblem(text);
  if (problem === undefined) return text;
  throw problem === 'too_long'
    ? new DocketError('review.comment_invalid', 'The comment is too long.', {
        expected: `at most ${MAX_COMMENT_LENGTH} characters`,
        got: String(commentLength(text)),
      })
    : new DocketError('review.comment_invalid', 'The comment is empty.', {
        expected: 'a text with words or numbers',
        next: 'To remove a comment, withdraw it.',
      });
}

/**
 * The sections that can have comments, in the report's order, with the figures that comments may quote. Includes all
 * sections but texts.
 */
export function commentableSections(
  { definition, dataset, locale }: FrozenReport,
  { sections }: ReviewInputs,
): ReviewView['sections'] {
  const figures = [...figureReferences(dataset, locale).values()];
  return withFigures(definition).map(({ id, title }) => ({
    id,
    title: title ?? id,
    required: sections.some((each) => each.id === id && each.required),
    references: figures
      .filter(({ section }) => section === id)
      .map((figure) => ({ reference: referenceText(figure), label: figure.label, text: figure.text })),
  }));
}

/**
 * Checks a comment against the figures. Throws `review.comment_invalid` for a section that cannot have comments, and
 * for a reference that names no figure.
 *
 * @returns typed numbers that contradict the section's figures
 */
export function checkComment(
  section: string | null,
  text: string | null,
  { definition, dataset, locale }: FrozenReport,
): readonly CommentWarning[] {
  // A comment can be withdrawn even if its section can no longer have one.
  if (text === null) return [];
  const known = withFigures(definition).map(({ id }) => id);
  if (section !== null && !known.includes(section)) {
    throw new DocketError('review.comment_invalid', 'The report has no such section.', {
      expected: `one of ${known.join(', ')}`,
      got: section,
    });
  }
  const [unknown] = unknownReferences(text, figureReferences(dataset, locale));
  if (unknown !== undefined) {
    throw new DocketError('review.comment_invalid', 'The comment refers to a figure that the report does not have.', {
      expected:
        'a figure of a total or of a row, e.g. {{ onboarding.profiles.created }} or {{ risk.profiles.created[severe] }}',
      got: unknown.typed,
      ...(unknown.near === undefined ? {} : { next: `Did you mean {{ ${unknown.near} }}?` }),
    });
  }
  return contradictions(text, section, dataset, locale).map(({ number, figure }) => ({
    number,
    text:
      figure === undefined
        ? `${number}: no figure ${section === null ? 'of the report' : `of ${section}`} is rounded to it.`
        : `${number}: ${figure.label} is ${figure.text}.`,
  }));
}

const withFigures = ({ sections }: Definition) => sections.filter(({ layout }) => layout !== 'text');
