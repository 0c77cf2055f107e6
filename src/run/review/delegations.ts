import { approvers, findApproverId, type Involved, isInvolved } from '../../definitions/people.ts';
import type { NewReviewEvent, ReviewActor, ReviewEvent } from './review-event.ts';
import type { ReviewInputs } from './review-inputs.ts';
import type { Delegation, ReviewState, Voter } from './review-state.ts';

type Named = Delegation['from'];
type NewDelegation = Omit<Extract<NewReviewEvent, { type: 'delegate' }>, 'type'>;
type Progress = Pick<ReviewState, 'delegations' | 'authors'>;

export const asActor = ({ id, name }: Named): ReviewActor => ({ person: id, name, principal: id });

/** A name such as `Dora Roth for Mia Lro`. */
export const voterName = ({ name, for: approver }: Voter): string =>
  approver === undefined ? name : `${name} for ${approver.name}`;

/** The delegations in force at a moment: each approver's newest one, until it ends. */
export const activeDelegations = (delegations: readonly Delegation[], at: number): readonly Delegation[] =>
  delegations.filter(
    ({ from, seq, until }) =>
      (until === null || at < until) && !delegations.some((later) => later.from.id === from.id && later.seq > seq),
  );

/**
 * Who approves when this person does: the person, or the person as a deputy. Undefined if they may not approve. Ignores
 * what they have written.
 */
export function findVoter(
  by: ReviewActor,
  at: number,
  { delegations }: Pick<Progress, 'delegations'>,
  { approval, people }: ReviewInputs,
): Voter | undefined {
  if (approval === undefined) return undefined;
  if (findApproverId(by, approval.by, people) !== undefined) return by;
  const found = activeDelegations(delegations, at).find(({ to }) => to.id === by.person);
  return found && { ...by, for: found.from };
}

/** Whether two votes use the same seat, or come from the same person. */
export function sharesVote(voter: Voter, other: Voter, { approval, people }: ReviewInputs): boolean {
  const findVotingApprover = (each: Voter) => each.for?.id ?? findApproverId(each, approval?.by ?? [], people);
  return (
    voter.principal === other.principal ||
    voter.person === other.person ||
    findVotingApprover(voter) === findVotingApprover(other)
  );
}

export const involvedIn = (
  { authors }: Pick<Progress, 'authors'>,
  { triggered_by: triggeredBy, triggered_by_subject: triggeredBySubject }: ReviewInputs,
): Involved => ({ triggeredBy, triggeredBySubject, authors });

/**
 * Whether somebody may not use their seat. With `four_eyes`, an involved approver may not. A deputy who is involved
 * never may, nor may a deputy whose approver may not.
 */
export function isBarred(voter: Voter, involved: Involved, { approval, people }: ReviewInputs): boolean {
  const { for: approver } = voter;
  if (approver !== undefined && isInvolved(voter, involved, people)) return true;
  return approval?.four_eyes === true && isInvolved(approver ? asActor(approver) : voter, involved, people);
}

export const barredText = (
  { for: approver }: Voter,
  what = 'triggered the run, or written a comment that is printed in it',
): string =>
  approver === undefined
    ? `You have ${what} (four_eyes).`
    : `You or ${approver.name} have ${what}: neither may approve.`;

/** Everybody who might approve at this moment, with e-mail addresses: approvers who can sign in, then deputies. */
export function candidates(
  { delegations }: Pick<Progress, 'delegations'>,
  at: number,
  { approval, people }: ReviewInputs,
): readonly { readonly voter: Voter; readonly email: string | undefined; readonly delegation?: Delegation }[] {
  const own = approvers(approval?.by ?? [], people).filter(({ canSignIn }) => canSignIn);
  const deputies = activeDelegations(delegations, at).map((delegation) => ({
    voter: { ...asActor(delegation.to), for: delegation.from },
    email: approvers([delegation.to.id], people)[0]?.email,
    delegation,
  }));
  return [...own.map((each) => ({ voter: asActor(each), email: each.email })), ...deputies];
}

/** The people who have added a recipient. */
export const typistsIn = (events: readonly ReviewEvent[]): readonly ReviewActor[] =>
  events.flatMap(({ type, by }) => (type === 'recipient' ? by : []));

/**
 * Why a delegation does not count; null if it does. Uses `people` as it was when the run was triggered: a later edit
 * makes nobody an approver of a waiting run.
 *
 * @param before the earlier events, and the state after them
 */
export function delegationRefusal(
  { from, to, by, at, until }: NewDelegation,
  before: Progress & { readonly events: readonly ReviewEvent[] },
  inputs: ReviewInputs,
): string | null {
  const { approval, people } = inputs;
  if (approval === undefined) return 'The report needs no approval.';
  const named = approvers(approval.by, people);
  const approver = named.find(({ id }) => id === from);
  if (approver === undefined) {
    return `Only approvers can have deputies: ${named.map(({ name }) => name).join(', ')}. A deputy cannot name another one.`;
  }
  const may =
    findApproverId(by, approval.by, people) === from ||
    // A deputy cannot delegate.
    (findApproverId(by, approval.may_delegate ?? [], people) !== undefined &&
      findVoter(by, at, before, inputs)?.for === undefined);
  if (!may) return `Only ${approver.name} and the people in approval.may_delegate of the report may name a deputy.`;
  const [deputy] = Object.hasOwn(people, to) ? approvers([to], people) : [];
  if (deputy?.canSignIn !== true) {
    return `${to} was not in \`people\` of org.yaml when the run was triggered, or cannot sign in.`;
  }
  if (named.some(({ id }) => id === to)) return `${deputy.name} is already an approver.`;
  const { authors, ...involved } = involvedIn(before, inputs);
  if (isInvolved(asActor(deputy), { ...involved, authors: [...authors, ...typistsIn(before.events), by] }, people)) {
    return `${deputy.name} has triggered the run, written a printed comment, added a recipient, or is the one who delegates.`;
  }
  if (until !== null && until <= at) return 'Its last day has passed.';
  const other = activeDelegations(before.delegations, at).find((each) => each.to.id === to && each.from.id !== from);
  return other === undefined ? null : `${deputy.name} is already the deputy of ${other.from.name}.`;
}

/** The delegation that an event makes. Call it only for an event that counts. */
export function buildDelegation(
  { type: _, from, to, ...event }: Extract<ReviewEvent, { type: 'delegate' }>,
  { people }: ReviewInputs,
): Delegation {
  const toNamed = (entry: string): Named => ({ id: entry, name: approvers([entry], people)[0]?.name ?? entry });
  return { ...event, from: toNamed(from), to: toNamed(to) };
}
