import { approvers, isInvolved } from '../../definitions/people.ts';
import { barredText, candidates, findVoter, involvedIn, isBarred, sharesVote, typistsIn } from './delegations.ts';
import type { LoadedReview } from './load-review.ts';
import type { ReviewEvent } from './review-event.ts';
import type { ReviewState, Voter } from './review-state.ts';

/** A recipient that somebody adds to an approved run, with the decisions of the approvers. */
export interface ProposedRecipient extends Omit<Extract<ReviewEvent, { type: 'recipient' }>, 'type'> {
  readonly approvals: readonly Voter[];
  /** `waiting`: more approvals are needed. */
  readonly state: 'waiting' | 'approved' | 'rejected';
}

type Known = Pick<LoadedReview, 'events' | 'inputs'> & { readonly state: Pick<ReviewState, 'authors' | 'delegations'> };

/**
 * The recipients proposed since the last seal, oldest first. Pure: uses only the events and the frozen inputs. Each
 * recipient needs as many approvals as the report. With `four_eyes`, the person who typed the address cannot approve
 * it.
 */
export function proposedRecipients({ events, inputs, state }: Known): readonly ProposedRecipient[] {
  const found: ProposedRecipient[] = [];
  const sealed = events.findLastIndex(({ type }) => type === 'seal');
  if (sealed < 0 || inputs?.approval === undefined) return found;
  for (const [before, event] of events.entries()) {
    if (before <= sealed) continue;
    if (event.type === 'recipient') {
      const { type: _, ...proposal } = event;
      found.push({ ...proposal, approvals: [], state: 'waiting' });
      continue;
    }
    const index = event.type === 'admit' ? found.findIndex(({ seq }) => seq === event.recipient) : -1;
    const proposal = found[index];
    if (event.type !== 'admit' || proposal?.state !== 'waiting') continue;
    // Judges each event only by the events before it.
    const known = { events: events.slice(0, before), inputs, state: stateAt(state, event) };
    if (admissionRefusal(proposal, event, known, event.admitted) !== null) continue;
    const voter = findVoter(event.by, event.at, known.state, inputs) ?? event.by;
    const approvals = event.admitted ? [...proposal.approvals, voter] : proposal.approvals;
    const reached = approvals.length >= inputs.approval.need ? 'approved' : 'waiting';
    found[index] = { ...proposal, approvals, state: event.admitted ? reached : 'rejected' };
  }
  return found;
}

/** The ids of the deliveries that enough people have approved. */
export const admittedDeliveries = (review: Known): ReadonlySet<string> =>
  new Set(proposedRecipients(review).flatMap(({ delivery, state }) => (state === 'approved' ? delivery : [])));

const stateAt = ({ authors, delegations }: Known['state'], { seq }: ReviewEvent): Known['state'] => ({
  authors,
  delegations: delegations.filter((each) => each.seq < seq),
});

/** Why a person may not approve (or reject) an added recipient; null if they may. */
export function admissionRefusal(
  { by: typist, approvals }: Pick<ProposedRecipient, 'by' | 'approvals'>,
  { by, at }: Pick<ReviewEvent, 'by' | 'at'>,
  { events, inputs, state }: Known,
  admitted: boolean,
): string | null {
  if (inputs?.approval === undefined) return 'The report needs no approval.';
  const voter = findVoter(by, at, state, inputs);
  if (voter === undefined) {
    const names = approvers(inputs.approval.by, inputs.people).map(({ name }) => name);
    return `Only these people may approve it: ${names.join(', ')}.`;
  }
  if (!admitted) return null;
  if (approvals.some((given) => sharesVote(voter, given, inputs)))
    return 'You, your deputy or the approver whose deputy you are has already approved it.';
  const hasTyped = voter.for !== undefined && isInvolved(voter, { authors: typistsIn(events) }, inputs.people);
  if (hasTyped || isBarred(voter, { authors: [typist] }, inputs)) return barredText(voter, 'added a recipient');
  return isBarred(voter, involvedIn(state, inputs), inputs) ? barredText(voter) : null;
}

/** The people who can still approve a proposal. */
export const possibleAdmitters = (
  proposal: Pick<ProposedRecipient, 'by' | 'approvals'>,
  review: Known,
  at: number,
): ReturnType<typeof candidates> =>
  review.inputs === undefined
    ? []
    : candidates(review.state, at, review.inputs).filter(
        ({ voter }) => admissionRefusal(proposal, { by: voter, at }, review, true) === null,
      );
