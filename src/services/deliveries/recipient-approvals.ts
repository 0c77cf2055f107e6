import { DocketError } from '../../base/error.ts';
import { resolvePerson, shellPerson } from '../../definitions/people.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import type { NewDelivery } from '../../deliver/ledger/ledger.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import {
  admissionRefusal,
  type ProposedRecipient,
  possibleAdmitters,
  proposedRecipients,
} from '../../run/review/added-recipients.ts';
import { type LoadedReview, loadReview } from '../../run/review/load-review.ts';
import { openReviewText } from '../../run/review/open-review.ts';
import type { NewReviewEvent, ReviewActor } from '../../run/review/review-event.ts';
import type { RunRecord } from '../../run/run-record.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { notAllowedError, unsettledError } from '../reviews/review-errors.ts';
import type { Reviewer } from '../reviews/review-service.ts';

/** A run with everything that a decision about its recipients needs. */
export interface RecipientScope {
  readonly record: RunRecord;
  readonly frozen: FrozenDefinition;
}

/** How often other events may come in between before a decision gives up. */
const MAX_TRIES = 20;

const toRunRef = ({ id, org, report }: RunRecord): RunRef => ({ id, org, report });
const toActor = ({ kind, name, subject }: Reviewer, { inputs }: LoadedReview): ReviewActor =>
  kind === 'shell' ? shellPerson(name) : resolvePerson({ kind, name, subject }, inputs?.people);

/** Appends the result of `next`, once. Null: the events already say it. @returns the review afterwards */
async function append(
  run: RunRef,
  next: (review: LoadedReview) => NewReviewEvent | null,
  { reviews }: Deployment,
): Promise<LoadedReview> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const review = await loadReview(reviews, run);
    const event = next(review);
    if (event === null) return review;
    const seq = review.state.seq + 1;
    const at = Math.max(event.at, review.events.at(-1)?.at ?? 0);
    if (await reviews.append(run, seq, { ...event, seq, at })) return loadReview(reviews, run);
  }
  throw unsettledError(run.id);
}

export async function listProposals(record: RunRecord, { reviews }: Deployment) {
  return proposedRecipients(await loadReview(reviews, toRunRef(record)));
}

/** Requests the approvers' decision on another recipient of a run. Throws `approval.unreachable`, `run.conflict`. */
export async function propose(
  { record, frozen }: RecipientScope,
  { id, target, recipient }: NewDelivery,
  replaces: string | null,
  reason: string,
  by: Reviewer,
  deployment: Deployment,
): Promise<ProposedRecipient> {
  const isSame = ({ delivery, state }: ProposedRecipient): boolean => delivery === id && state !== 'rejected';
  const review = await append(
    toRunRef(record),
    (before) => {
      if (proposedRecipients(before).some(isSame)) return null;
      const typist = toActor(by, before);
      const need = before.inputs?.approval?.need ?? 0;
      // A deputy adds no seat.
      const remaining = possibleAdmitters({ by: typist, approvals: [] }, before, deployment.clock.now()).filter(
        ({ delegation }) => delegation === undefined,
      );
      if (need === 0 || remaining.length < need) {
        throw new DocketError('approval.unreachable', 'If you add this recipient, too few people can approve it.', {
          expected: `${need} of approval.by who did not add it (four_eyes)`,
          got: remaining.map(({ voter }) => voter.name).join(', ') || 'nobody',
          next: 'Ask somebody who is not an approver to add it.',
        });
      }
      return {
        type: 'recipient',
        at: deployment.clock.now(),
        by: typist,
        delivery: id,
        target,
        recipient,
        replaces,
        reason,
      };
    },
    deployment,
  );
  const proposal = proposedRecipients(review).find(isSame);
  if (proposal === undefined) throw unsettledError(record.id);
  // The review sweep notifies the approvers.
  await deployment.reviews.open(toRunRef(record), openReviewText({ order: record, ...frozen }));
  return proposal;
}

/** Throws `delivery.not_found`, `delivery.conflict`, `review.not_allowed`. */
export async function decideProposal(
  record: RunRecord,
  delivery: string,
  admitted: boolean,
  reason: string,
  by: Reviewer,
  deployment: Deployment,
): Promise<ProposedRecipient> {
  const find = (review: LoadedReview): ProposedRecipient => {
    const found = proposedRecipients(review).findLast((each) => each.delivery === delivery);
    if (found !== undefined) return found;
    throw new DocketError('delivery.not_found', `Nobody has added recipient ${delivery} to run ${record.id}.`, {
      next: `\`docket runs show ${record.id}\` shows what waits for approval.`,
    });
  };
  const review = await append(
    toRunRef(record),
    (before) => {
      const proposal = find(before);
      const who = toActor(by, before);
      const { state, approvals, seq } = proposal;
      // A repeated decision: what follows the approval may have been interrupted.
      if (admitted && approvals.some(({ person }) => person === who.person)) return null;
      if (state !== 'waiting') {
        throw new DocketError('delivery.conflict', `The recipient ${proposal.recipient} was already decided about.`, {
          got: state,
          next: `See \`docket runs show ${record.id}\`.`,
        });
      }
      const now = { by: who, at: deployment.clock.now() };
      const refusal = admissionRefusal(proposal, now, before, admitted);
      if (refusal !== null) throw notAllowedError(record.id, admitted ? 'approve' : 'reject', refusal);
      return { type: 'admit', at: deployment.clock.now(), by: who, recipient: seq, admitted, reason };
    },
    deployment,
  );
  return find(review);
}
