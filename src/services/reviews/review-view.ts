import { stripInvisible } from '../../base/text/bidi.ts';
import { approverOf, approvers, remainingApprovers } from '../../definitions/people.ts';
import { reviewState } from '../../run/review/fold-review.ts';
import type { LoadedReview } from '../../run/review/load-review.ts';
import type { NewReviewEvent, ReviewActor, ReviewEvent } from '../../run/review/review-event.ts';
import type { ReviewInputs } from '../../run/review/review-inputs.ts';
import type { ReviewState } from '../../run/review/review-state.ts';
import type { RunRecord } from '../../run/run-record.ts';
import type { ReviewView } from './review-service.ts';

/** A review with its next event: the state that every process will compute from it. */
function stateWith({ events, inputs, state }: LoadedReview, event: NewReviewEvent): ReviewState {
  const next: ReviewEvent = { ...event, seq: state.seq + 1 };
  return reviewState([...events, next], inputs);
}

/**
 * The state of a review, as it was sealed where its report was delivered: an older version may have counted an approval that
 * this one would not, and nobody can approve what has gone out.
 */
export function stateOfEnded({ events, inputs, state }: LoadedReview, record: Pick<RunRecord, 'state'>): ReviewState {
  const isDelivered = record.state === 'done' || record.state === 'partly_delivered';
  // Recipients are added after the seal.
  const last = events.findLast(({ type }) => type !== 'recipient' && type !== 'admit');
  if (!isDelivered || state.phase !== 'approval' || last?.type !== 'seal' || inputs?.approval === undefined)
    return state;
  return reviewState(events, { ...inputs, approval: { ...inputs.approval, four_eyes: false } });
}

/** Why a review takes no comment and no decision now; null where it does. */
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

/** Whether an approval of the present content by this person would count. */
function wouldCount(review: LoadedReview, by: ReviewActor, at: number): boolean {
  const { content, approvals } = review.state;
  if (content === null) return false;
  const next = stateWith(review, { type: 'approve', at, by, content, reason: '' });
  return next.approvals.length > approvals.length;
}

/** Who may approve the present content, by printed name. */
export function reviewersOf(review: LoadedReview, at: number): readonly string[] {
  const { inputs, events, state } = review;
  const approval = inputs?.approval;
  if (inputs === undefined || approval === undefined) return [];
  const { by, four_eyes: fourEyes } = approval;
  const { triggered_by: triggeredBy, triggered_by_subject: triggeredBySubject } = inputs;
  const involved = fourEyes ? { triggeredBy, triggeredBySubject, authors: authorsOf(events) } : { authors: [] };
  const given = new Set(state.approvals.map((each) => approverOf(each.by, by, inputs.people)));
  return remainingApprovers(by, inputs.people, involved)
    .filter(({ id, name }) => !given.has(id) && wouldCount(review, { person: id, name, principal: id }, at))
    .map(({ name }) => name);
}

/** Who wrote a version of a text that is printed, since the section's comment was last withdrawn. */
export function authorsOf(events: readonly ReviewEvent[]): readonly ReviewActor[] {
  const authors = new Map<string | null, readonly ReviewActor[]>();
  for (const event of events) {
    if (event.type !== 'comment') continue;
    if (event.text === null) authors.delete(event.section);
    else authors.set(event.section, [...(authors.get(event.section) ?? []), event.by]);
  }
  return [...authors.values()].flat();
}

/** How many people could still approve, each for themselves, approvals that were given included. @param event comes before */
export function possibleApprovals(review: LoadedReview, event?: NewReviewEvent): number {
  if (event === undefined) return review.state.approvals.length + reviewersOf(review, 0).length;
  const events = [...review.events, { ...event, seq: review.state.seq + 1 }];
  return possibleApprovals({ ...review, events, state: reviewState(events, review.inputs) });
}

/** Why the person may not approve the present content; null where they may. */
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
  if (!isNamed(review, by, at)) return `The report names who may approve it: ${namesOf(inputs).join(', ')}.`;
  return 'You have triggered the run, or written a comment that is printed in it (four_eyes).';
}

/** Whether `approval.by` names the person, whatever they have written. */
export function isNamed({ events, inputs }: LoadedReview, by: ReviewActor, at: number): boolean {
  if (inputs?.approval === undefined) return false;
  const free: ReviewInputs = { ...inputs, approval: { ...inputs.approval, four_eyes: false } };
  // Approvals given so far do not matter here: a second one of the same person does not count.
  const others = events.filter(({ type }) => type !== 'approve').map((event, index) => ({ ...event, seq: index + 1 }));
  return wouldCount({ events: others, inputs: free, state: reviewState(others, free) }, by, at);
}

const namesOf = ({ approval, people }: ReviewInputs): readonly string[] =>
  approvers(approval?.by ?? [], people).map(({ name }) => name);

/** All versions of all comments, oldest first. */
export const historyOf = (events: readonly ReviewEvent[]): ReviewView['history'] =>
  events.flatMap((event) =>
    event.type === 'comment'
      ? [{ section: event.section, text: event.text && stripInvisible(event.text), by: event.by.name, at: event.at }]
      : [],
  );
