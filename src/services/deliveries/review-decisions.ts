import { DocketError } from '../../base/error.ts';
import { type LoadedReview, loadReview } from '../../run/review/load-review.ts';
import type { ReviewActor } from '../../run/review/review-event.ts';
import type { ReviewPhase } from '../../run/review/review-state.ts';
import type { DecisionAuthor, RunRecord } from '../../run/run-record.ts';
import type { Deployment } from '../deployment/deployment.ts';

/** How often other events may come in between before a decision gives up. */
const MAX_TRIES = 20;
const ENDED_PHASES: ReadonlySet<ReviewPhase> = new Set<ReviewPhase>(['sealed', 'rejected', 'cancelled']);

type OperatorEvent =
  | { readonly type: 'release'; readonly content: string; readonly reason: string }
  | { readonly type: 'cancel'; readonly reason: string };

/**
 * Carries out operators' decisions on runs that wait for people. Each is an event of the review; none of them approves
 * anything.
 */
export function createReviewDecisions({ reviews, clock }: Deployment) {
  /** @param next undefined: the review accepts no such event. @returns whether the event is in the review */
  const append = async (
    record: RunRecord,
    { by }: DecisionAuthor,
    next: (review: LoadedReview) => OperatorEvent | undefined,
  ): Promise<boolean> => {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const review = await loadReview(reviews, record);
      const event = review.events.length === 0 ? undefined : next(review);
      if (event === undefined) return false;
      const seq = review.state.seq + 1;
      const at = Math.max(clock.now(), review.events.at(-1)?.at ?? 0);
      if (await reviews.append(record, seq, { ...event, seq, at, by: toActor(by) })) return true;
    }
    throw new DocketError('run.conflict', `The review of run ${record.id} keeps changing.`, {
      next: 'Check it with `docket runs show`, then decide again.',
    });
  };
  return {
    /**
     * Releases incomplete figures. False if the run has no review. Throws `run.conflict` if it does not wait for a
     * release.
     */
    release: (record: RunRecord, author: DecisionAuthor): Promise<boolean> =>
      append(record, author, ({ state: { phase, content } }) => {
        if (phase === 'incomplete' && content !== null) return { type: 'release', content, reason: author.reason };
        throw new DocketError('run.conflict', `Run ${record.id} does not wait to be released.`, {
          expected: 'a run that is held for incomplete figures',
          got: WAITS_FOR[phase],
          next: `See \`docket runs show ${record.id}\`.`,
        });
      }),
    /** Ends the review. False if the run has none, or if it has already ended. */
    cancel: (record: RunRecord, author: DecisionAuthor): Promise<boolean> =>
      append(record, author, ({ state }) =>
        ENDED_PHASES.has(state.phase) ? undefined : { type: 'cancel', reason: author.reason },
      ),
    /** Throws `run.conflict` if the run's review was rejected or cancelled. */
    assertRetryable: async (record: RunRecord): Promise<void> => {
      const { phase } = (await loadReview(reviews, record)).state;
      if (phase !== 'rejected' && phase !== 'cancelled') return;
      throw new DocketError('run.conflict', `Run ${record.id} cannot be retried: its review has ended.`, {
        got: phase,
        next: 'Trigger the report again: the new run has a review of its own.',
      });
    },
  };
}

const WAITS_FOR: Readonly<Record<ReviewPhase, string>> = {
  figures: 'figures that are fetched again',
  comments: 'a run that waits for comments',
  incomplete: 'a run that is held for incomplete figures',
  approval: 'a run that waits for approval, which releases it',
  ready: 'a run that is about to be delivered',
  sealed: 'a run that is published',
  rejected: 'a run that was rejected',
  cancelled: 'a run that was cancelled',
};

/** An actor with only a name, which is enough for events that need no sign-in. */
const toActor = (name: string): ReviewActor => ({ person: name, name, principal: name });
