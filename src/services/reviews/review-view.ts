import { stripInvisible } from '../../base/text/bidi.ts';
import { approvers } from '../../definitions/people.ts';
import { barredText, candidates, findVoter, sharesVote, voterName } from '../../run/review/delegations.ts';
import { reviewState } from '../../run/review/fold-review.ts';
import type { LoadedReview } from '../../run/review/load-review.ts';
import type { NewReviewEvent, ReviewActor, ReviewEvent } from '../../run/review/review-event.ts';
import type { ReviewInputs } from '../../run/review/review-inputs.ts';
import type { ReviewComment, ReviewState } from '../../run/review/review-state.ts';
import type { RunRecord } from '../../run/run-record.ts';
import type { ReviewView } from './review-service.ts';

/** The review's state after another event, as every process will compute it. */
function stateWith({ events, inputs, state }: LoadedReview, event: NewReviewEvent): ReviewState {
  const next: ReviewEvent = { ...event, seq: state.seq + 1 };
  return reviewState([...events, next], inputs);
}

/**
 * The state of a review; as it was sealed, if its report was delivered. An older version may have counted an approval
 * that this version would not, and nobody can approve what was already sent.
 */
export function stateOfEnded({ events, inputs, state }: LoadedReview, record: Pick<RunRecord, 'state'>): ReviewState {
  const isDelivered = record.state === 'done' || record.state === 'partly_delivered';
  const last = events.findLast(({ type }) => !FOLLOWS_SEAL.has(type));
  if (!isDelivered || state.phase !== 'approval' || last?.type !== 'seal' || inputs?.approval === undefined)
    return state;
  return reviewState(events, { ...inputs, approval: { ...inputs.approval, four_eyes: false } });
}

/** Events about added recipients, which come after the seal. */
const FOLLOWS_SEAL: ReadonlySet<ReviewEvent['type']> = new Set<ReviewEvent['type']>(['recipient', 'admit', 'delegate']);

/** Why a review accepts no comments and decisions now; null if it does. */
export function closedReason({ phase }: ReviewState): string | null {
  switch (phase) {
    case 'figures':
      return 'its figures are being fetched';
    case 'sealed':
      return 'it is complete: its content is published';
    case 'rejected':
      return 'it was rejected';
    case 'cancelled':
      return 'it was cancelled';
    default:
      return null;
  }
}

/** Whether this person's approval of the current content would count. */
function wouldCount(review: LoadedReview, by: ReviewActor, at: number): boolean {
  const { content, approvals } = review.state;
  if (content === null) return false;
  const next = stateWith(review, { type: 'approve', at, by, content, reason: '' });
  return next.approvals.length > approvals.length;
}

/** The people who may approve the current content, approvers before deputies. */
export const selectReviewers = (review: LoadedReview, at: number): ReturnType<typeof candidates> =>
  review.inputs === undefined
    ? []
    : candidates(review.state, at, review.inputs).filter(({ voter }) => wouldCount(review, voter, at));

/** How many approvers have approved or still can. A deputy adds none. @param event is applied first */
export function possibleApprovals(review: LoadedReview, event?: NewReviewEvent): number {
  if (event === undefined) {
    return (
      review.state.approvals.length + selectReviewers(review, 0).filter(({ voter }) => voter.for === undefined).length
    );
  }
  const events = [...review.events, { ...event, seq: review.state.seq + 1 }];
  return possibleApprovals({ ...review, events, state: reviewState(events, review.inputs) });
}

/** Why the person may not approve the current content; null if they may. */
export function approvalRefusal(review: LoadedReview, by: ReviewActor | undefined, at: number): string | null {
  const { state, inputs } = review;
  const closed = closedReason(state);
  if (closed !== null) return `Nothing to approve: ${closed}.`;
  if (inputs?.approval === undefined) return 'The report needs no approval.';
  if (state.phase === 'ready') return 'Enough people have approved it.';
  if (state.phase === 'comments') return 'A required comment is missing.';
  if (by === undefined) return 'Sign in to approve.';
  if (wouldCount(review, by, at)) return null;
  if (state.approvals.some((given) => given.by.person === by.person)) return 'You have approved it.';
  const voter = findVoter(by, at, state, inputs);
  if (voter === undefined) return `Only these people may approve it: ${collectNames(inputs).join(', ')}.`;
  const shared = state.approvals.find((given) => sharesVote(voter, given.by, inputs));
  return shared === undefined ? barredText(voter) : `${voterName(shared.by)} has already approved it for both of you.`;
}

const collectNames = ({ approval, people }: ReviewInputs): readonly string[] =>
  approvers(approval?.by ?? [], people).map(({ name }) => name);

const buildPlace = ({ section, value }: Pick<ReviewComment, 'section' | 'value'>) => ({
  section,
  ...(value === undefined ? {} : { value }),
});

/** All versions of all comments, oldest first. */
export const buildHistory = (events: readonly ReviewEvent[]): ReviewView['history'] =>
  events.flatMap((event) =>
    event.type === 'comment'
      ? [{ ...buildPlace(event), text: event.text && stripInvisible(event.text), by: event.by.name, at: event.at }]
      : [],
  );
