import { isolateBidi } from '../../../base/text/bidi.ts';
import { MAX_EMAIL_COMMENT_LENGTH } from '../../../definitions/commentary/comment-text.ts';
import type { Words } from '../../../i18n/messages.ts';
import type { Pack } from '../../pack/pack.ts';
import { actionLines, decisionLines, splitRequests } from '../../pack/review/asked.ts';
import { type BlockLine, blockLines, shortenLines } from '../../pack/review/block-lines.ts';
import { correctionText } from '../../pack/review/correction.ts';
import type { PackComment } from '../../pack/review/review.ts';
import type { EmailSummary, SummarySection } from '../summary.ts';

/** The most characters of a comment's request, in addition to those of the rest of the comment. */
const MAX_REQUESTS_LENGTH = 800;
/** The most paragraphs and items of a comment, and the most changed figures. The files have the others. */
const MAX_LINES = 12;
const MAX_CHANGES = 6;

/** Where the rest of a comment is. Undefined if no file contains it; the e-mail then shows all of it. */
export type RestLocation = string | undefined;

const linesData = (lines: readonly BlockLine[]) =>
  lines.map(({ marker, spans }) => ({
    marker,
    spans: spans.map(({ text, emphasis }) => ({ text, emphasis: emphasis ?? ('' as const) })),
  }));

/**
 * A comment for a template: its beginning, and where the rest is. `parts` separates the request from the rest, so that
 * it is shown even if it follows a long text. `lines` has everything in the original order, for templates that do not
 * use parts.
 */
export function commentData({ heading, blocks }: PackComment, rest: RestLocation, { review }: Words) {
  const shorten = (lines: readonly BlockLine[], characters: number): ReturnType<typeof shortenLines> =>
    rest === undefined ? { lines, cut: false } : shortenLines(lines, characters, MAX_LINES);
  const own = splitRequests(blocks);
  const body = shorten(own.body, MAX_EMAIL_COMMENT_LENGTH);
  const [decisions, actions] = [decisionLines(own), actionLines(own)];
  const requests = shorten([...decisions, ...actions], MAX_REQUESTS_LENGTH);
  const parts = [
    { heading: review.asked, lines: requests.lines.slice(0, decisions.length) },
    { heading: review.actions, lines: requests.lines.slice(decisions.length) },
  ].filter(({ lines }) => lines.length > 0);
  return {
    heading,
    lines: linesData(shorten(blockLines(blocks), MAX_EMAIL_COMMENT_LENGTH).lines),
    parts: [{ heading, lines: body.lines }, ...parts].map((part) => ({ ...part, lines: linesData(part.lines) })),
    more: (body.cut || requests.cut) && rest !== undefined ? review.continued(rest) : '',
  };
}

/** A comment with its section's title, because the e-mail does not show that section. */
const titled = (comment: PackComment, title: string): PackComment => ({
  ...comment,
  heading: `${isolateBidi(title)}: ${comment.heading}`,
});

/** The comments above the sections: those on the whole report, and those on sections that the e-mail does not show. */
function topComments({ comments, commented }: EmailSummary, shown: ReadonlySet<string>): readonly PackComment[] {
  const apart = commented.filter(({ id }) => !shown.has(id));
  return [...comments, ...apart.flatMap(({ title, comments: own }) => own.map((each) => titled(each, title)))];
}

function correctionData({ correction }: Pick<Pack, 'correction'>, figures: boolean, { review }: Words) {
  const changes = figures ? (correction?.changes ?? []) : [];
  const shown = changes.slice(0, MAX_CHANGES);
  // The pack lists more changes, and may leave out some as well.
  const left = changes.length === 0 ? 0 : (correction?.total ?? 0) - shown.length;
  return {
    correction: correction === undefined ? '' : figures ? correctionText(correction) : correction.text,
    changes_heading: changes.length === 0 ? '' : (correction?.heading ?? ''),
    changes: shown,
    more_changes: left > 0 ? review.moreChanges(left) : '',
  };
}

export interface ReviewDataOptions {
  readonly rest: RestLocation;
  /** Without figures, the body must not contain texts that may name some: no comments and no changes. */
  readonly figures: boolean;
  readonly sections: readonly Pick<SummarySection, 'id'>[];
  readonly words: Words;
}

/** The part of the data about comments, approval and corrections. */
export function reviewData(summary: EmailSummary, { rest, figures, sections, words }: ReviewDataOptions) {
  const comments = figures ? topComments(summary, new Set(sections.map(({ id }) => id))) : [];
  return {
    approval: summary.approval ?? '',
    ...correctionData(summary, figures, words),
    comments: comments.map((comment) => commentData(comment, rest, words)),
  };
}
