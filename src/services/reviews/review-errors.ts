import { DocketError } from '../../base/error.ts';
import type { LoadedReview } from '../../run/review/load-review.ts';
import type { NewReviewEvent } from '../../run/review/review-event.ts';
import { possibleApprovals } from './review-view.ts';

/** @param why e.g. `it was rejected` */
export const reviewConflictError = (run: string, why: string): DocketError =>
  new DocketError('run.conflict', `Run ${run} takes no comment or decision: ${why}.`, {
    where: `run ${run}`,
    next: `See \`docket runs show ${run}\`.`,
  });

export const contentChangedError = (run: string, named: string, content: string | null): DocketError =>
  new DocketError('review.content_changed', 'The content has changed since it was reviewed.', {
    where: `run ${run}`,
    expected: `the current content, ${content?.slice(0, 12) ?? 'which does not exist yet'}`,
    got: named.slice(0, 12),
    next: 'Look at the current files and comments, then decide again.',
  });

/** @param why a sentence */
export const notAllowedError = (run: string, what: 'approve' | 'reject' | 'delegate', why: string): DocketError =>
  new DocketError(
    'review.not_allowed',
    `You may not ${what === 'delegate' ? 'name this deputy in' : what} run ${run}. ${why}`,
    {
      where: `run ${run}`,
      next: 'Ask somebody who may, or sign in with another account or token.',
    },
  );

/** The error if other events keep coming in between. */
export const unsettledError = (run: string): DocketError =>
  new DocketError('run.conflict', `The review of run ${run} keeps changing.`, { next: 'Try again.' });

/**
 * Throws `approval.unreachable` if a comment would leave too few people to approve: with `four_eyes`, its author
 * cannot.
 */
export function refuseUnreachable(review: LoadedReview, event: NewReviewEvent): void {
  const approval = review.inputs?.approval;
  if (approval === undefined || !approval.four_eyes) return;
  const after = possibleApprovals(review, event);
  if (after >= approval.need || after >= possibleApprovals(review)) return;
  throw new DocketError('approval.unreachable', 'If you comment, too few people can approve the report.', {
    expected: `${approval.need} of approval.by who have written no printed comment (four_eyes)`,
    got: `${after} after your comment`,
    next: 'Ask somebody who is not an approver to write the comment.',
  });
}
