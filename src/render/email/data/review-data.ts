import { isolateBidi } from '../../../base/text/bidi.ts';
import { MAX_EMAIL_COMMENT_LENGTH } from '../../../definitions/commentary/comment-text.ts';
import type { Words } from '../../../i18n/messages.ts';
import type { Pack } from '../../pack/pack.ts';
import { blockLines, shortenBlocks } from '../../pack/review/block-lines.ts';
import type { PackComment } from '../../pack/review/review.ts';
import type { EmailSummary, SummarySection } from '../summary.ts';

/** Paragraphs and items of a comment, and changed figures: the files have the others. */
const MAX_LINES = 12;
const MAX_CHANGES = 6;

/** Where the rest of a comment is; undefined where no file has it, so that the e-mail shows all of it. */
export type RestLocation = string | undefined;

/** A comment for a template: its beginning, and where the rest is. */
export function commentData({ heading, blocks }: PackComment, rest: RestLocation, { review }: Words) {
  const { blocks: shown, cut } =
    rest === undefined ? { blocks, cut: false } : shortenBlocks(blocks, MAX_EMAIL_COMMENT_LENGTH, MAX_LINES);
  return {
    heading,
    lines: blockLines(shown).map(({ marker, spans }) => ({
      marker,
      spans: spans.map(({ text, emphasis }) => ({ text, emphasis: emphasis ?? ('' as const) })),
    })),
    more: cut && rest !== undefined ? review.continued(rest) : '',
  };
}

/** A comment on a section that the e-mail does not show, with the section's title. */
const titled = (comment: PackComment, title: string): PackComment => ({
  ...comment,
  heading: `${isolateBidi(title)}: ${comment.heading}`,
});

/** The comments above the sections: on the whole report, and on sections that the e-mail does not show. */
function topComments({ comments, commented }: EmailSummary, shown: ReadonlySet<string>): readonly PackComment[] {
  const apart = commented.filter(({ id }) => !shown.has(id));
  return [...comments, ...apart.flatMap(({ title, comments: own }) => own.map((each) => titled(each, title)))];
}

function correctionData({ correction }: Pick<Pack, 'correction'>, figures: boolean, { review }: Words) {
  const changes = figures ? (correction?.changes ?? []) : [];
  const shown = changes.slice(0, MAX_CHANGES);
  // The pack lists more of them, and may leave out some too.
  const left = changes.length === 0 ? 0 : (correction?.total ?? 0) - shown.length;
  return {
    correction: correction?.text ?? '',
    changes_heading: changes.length === 0 ? '' : (correction?.heading ?? ''),
    changes: shown,
    more_changes: left > 0 ? review.moreChanges(left) : '',
  };
}

export interface ReviewDataOptions {
  readonly rest: RestLocation;
  /** A body without figures has nothing that may name some: neither comments nor changes. */
  readonly figures: boolean;
  readonly sections: readonly Pick<SummarySection, 'id'>[];
  readonly words: Words;
}

/** What people said, approved and corrected. */
export function reviewData(summary: EmailSummary, { rest, figures, sections, words }: ReviewDataOptions) {
  const comments = figures ? topComments(summary, new Set(sections.map(({ id }) => id))) : [];
  return {
    approval: summary.approval ?? '',
    ...correctionData(summary, figures, words),
    comments: comments.map((comment) => commentData(comment, rest, words)),
  };
}
