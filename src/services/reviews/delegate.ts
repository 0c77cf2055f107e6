import { DateTime } from 'luxon';
import { approvers, findApproverId, keyOfEntry } from '../../definitions/people.ts';
import { proposedRecipients } from '../../run/review/added-recipients.ts';
import { activeDelegations, delegationRefusal } from '../../run/review/delegations.ts';
import type { LoadedReview } from '../../run/review/load-review.ts';
import type { NewReviewEvent, ReviewActor } from '../../run/review/review-event.ts';
import { notAllowedError } from './review-errors.ts';
import type { ReviewView } from './review-service.ts';
import { closedReason } from './review-view.ts';

export interface DelegationRequest {
  /** The deputy: a key of `people`, or one of the person's tokens or accounts. */
  readonly to: string;
  /** The approver, as an entry of `approval.by`. Absent: the person making the request, or the only approver. */
  readonly from?: string | undefined;
  /** The last day, `YYYY-MM-DD` in the organization's time zone. Absent: no end. */
  readonly until?: string | undefined;
  readonly reason: string;
}

/** Whether anything in the run can still be approved. */
export const takesDelegations = (review: LoadedReview): boolean =>
  closedReason(review.state) === null || proposedRecipients(review).some(({ state }) => state === 'waiting');

/** The event to append. Null: the delegation is already in force. Throws `review.not_allowed`. */
export function newDelegation(
  run: string,
  { to: typedTo, from: typedFrom, until: lastDay, reason }: DelegationRequest,
  by: ReviewActor,
  review: LoadedReview,
  at: number,
  zone: string,
): Extract<NewReviewEvent, { type: 'delegate' }> | null {
  const { inputs, state } = review;
  if (inputs === undefined) throw notAllowedError(run, 'delegate', 'The report needs no approval.');
  const { approval, people } = inputs;
  const own = findApproverId(by, approval?.by ?? [], people);
  const named = approvers(typedFrom === undefined ? (approval?.by ?? []) : [typedFrom], people);
  const from = (typedFrom === undefined ? own : undefined) ?? (named.length === 1 ? named[0]?.id : undefined);
  if (from === undefined) throw notAllowedError(run, 'delegate', 'Name the approver who needs a deputy (`from`).');
  const to = keyOfEntry(typedTo, people) ?? typedTo;
  // A day that does not exist counts as past.
  const end = lastDay && DateTime.fromISO(lastDay, { zone }).plus({ days: 1 }).startOf('day').toMillis();
  const until = lastDay === undefined ? null : end || 0;
  const holds = activeDelegations(state.delegations, at).find((each) => each.from.id === from);
  if (holds?.to.id === to && holds.until === until) return null;
  const event = { type: 'delegate', at, by, from, to, until, reason } as const;
  const refusal = delegationRefusal(event, { ...state, events: review.events }, inputs);
  if (refusal !== null) throw notAllowedError(run, 'delegate', refusal);
  return event;
}

/** The people whom somebody may name as deputies, for each approver. */
export function possibleDeputies(review: LoadedReview, by: ReviewActor, at: number): ReviewView['deputies'] {
  const { events, inputs, state } = review;
  if (inputs === undefined || !takesDelegations(review)) return [];
  const known = approvers(Object.keys(inputs.people), inputs.people);
  return approvers(inputs.approval?.by ?? [], inputs.people).flatMap((from) => {
    const may = (to: string): boolean =>
      delegationRefusal({ at, by, from: from.id, to, until: null, reason: '' }, { ...state, events }, inputs) === null;
    const to = known.filter(({ id }) => may(id)).map(({ id, name }) => ({ id, name }));
    return to.length === 0 ? [] : [{ from: { id: from.id, name: from.name }, to }];
  });
}
