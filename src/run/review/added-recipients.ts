import { approverOf, approvers, isInvolved } from '../../definitions/people.ts';
import type { LoadedReview } from './load-review.ts';
import type { ReviewActor, ReviewEvent } from './review-event.ts';

/** A recipient that somebody adds to an approved run, with the decisions of the approvers. */
export interface ProposedRecipient extends Omit<Extract<ReviewEvent, { type: 'recipient' }>, 'type'> {
  readonly approvals: readonly ReviewActor[];
  /** `waiting`: for more approvals. */
  readonly state: 'waiting' | 'approved' | 'rejected';
}

type Review = Pick<LoadedReview, 'events' | 'inputs' | 'state'>;

/**
 * The recipients that were proposed for what was sealed last, oldest first. Pure, from the events and the frozen inputs alone:
 * each needs as many approvers as the report, and under `four_eyes` none of them may have typed the address.
 */
export function proposedRecipients({ events, inputs, state }: Review): readonly ProposedRecipient[] {
  const found: ProposedRecipient[] = [];
  const sealed = events.findLastIndex(({ type }) => type === 'seal');
  if (sealed < 0 || inputs?.approval === undefined) return found;
  for (const event of events.slice(sealed + 1)) {
    if (event.type === 'recipient') {
      const { type: _, ...proposal } = event;
      found.push({ ...proposal, approvals: [], state: 'waiting' });
      continue;
    }
    const index = event.type === 'admit' ? found.findIndex(({ seq }) => seq === event.recipient) : -1;
    const proposal = found[index];
    if (event.type !== 'admit' || proposal?.state !== 'waiting') continue;
    if (admissionRefusal(proposal, event.by, { inputs, state }, event.admitted) !== null) continue;
    const approvals = event.admitted ? [...proposal.approvals, event.by] : proposal.approvals;
    const reached = approvals.length >= inputs.approval.need ? 'approved' : 'waiting';
    found[index] = { ...proposal, approvals, state: event.admitted ? reached : 'rejected' };
  }
  return found;
}

/** The ids of the deliveries that enough people have approved. */
export const admittedDeliveries = (review: Review): ReadonlySet<string> =>
  new Set(proposedRecipients(review).flatMap(({ delivery, state }) => (state === 'approved' ? delivery : [])));

/** Why a person may not approve (or reject) an added recipient; null where they may. */
export function admissionRefusal(
  { by: typist, approvals }: Pick<ProposedRecipient, 'by' | 'approvals'>,
  by: ReviewActor,
  { inputs, state }: Omit<Review, 'events'>,
  admitted: boolean,
): string | null {
  const approval = inputs?.approval;
  if (approval === undefined) return 'The report needs no approval.';
  const { people } = inputs ?? {};
  const id = approverOf(by, approval.by, people);
  if (id === undefined) {
    const names = approvers(approval.by, people).map(({ name }) => name);
    return `The report names who may approve it: ${names.join(', ')}.`;
  }
  if (!admitted) return null;
  const isSame = (given: ReviewActor): boolean =>
    given.principal === by.principal || approverOf(given, approval.by, people) === id;
  if (approvals.some(isSame)) return 'You have approved it.';
  if (!approval.four_eyes) return null;
  if (isInvolved(by, { authors: [typist] }, people)) return 'You have added this recipient (four_eyes).';
  const isExcluded = state.excluded.includes(id) || state.excluded.includes(by.person);
  return isExcluded ? 'You have triggered the run, or written a comment that is printed in it (four_eyes).' : null;
}

/** The ids of those who may still approve a proposal (`Approver.id`), with their addresses. */
export function possibleAdmitters(
  proposal: Pick<ProposedRecipient, 'by' | 'approvals'>,
  review: Omit<Review, 'events'>,
) {
  const { approval, people } = review.inputs ?? {};
  return approvers(approval?.by ?? [], people).filter(
    ({ id, name, canSignIn }) =>
      canSignIn && admissionRefusal(proposal, { person: id, name, principal: id }, review, true) === null,
  );
}
