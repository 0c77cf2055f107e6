import { canonicalAddress } from '../../definitions/allow-lists/recipients.ts';
import { approvers, triggerPerson } from '../../definitions/people.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import type { DeputyNews, ReviewNews } from '../../deliver/notices/review-notice.ts';
import { messagesFor } from '../../i18n/messages.ts';
import { possibleAdmitters, proposedRecipients } from '../../run/review/added-recipients.ts';
import type { candidates } from '../../run/review/delegations.ts';
import type { ReviewActor, ReviewEvent } from '../../run/review/review-event.ts';
import type { ReviewInputs } from '../../run/review/review-inputs.ts';
import type { ReviewState } from '../../run/review/review-state.ts';
import type { RunOrder } from '../../run/run-record.ts';
import { type ReviewDeadline, weeklyReminders } from './review-deadlines.ts';
import { selectReviewers } from './review-view.ts';

/** The author of what Docket itself does. */
export const DOCKET: ReviewActor = { person: 'docket', name: 'Docket', principal: 'docket' };

/** Why Docket cancels a run that nobody approved in time, as the review stores it. */
export const lateReason = (days: number): string => messagesFor().notice.notApproved(days);
const isLate = (reason: string, days: number | undefined): boolean => days !== undefined && reason === lateReason(days);

/** A notice that somebody should have received. */
export interface DueNotice {
  /** Each recipient gets one notice per key and run. */
  readonly key: string;
  /** A plain e-mail address. */
  readonly recipient: string;
  /** When its occasion happened, epoch ms. */
  readonly at: number;
  readonly news: ReviewNews;
}

export interface NoticeScope {
  readonly order: Pick<RunOrder, 'by' | 'bySubject'>;
  readonly definition: Pick<Definition, 'owner' | 'approval'>;
  readonly settings: Pick<OrgSettings, 'people'>;
  readonly events: readonly ReviewEvent[];
  readonly inputs: ReviewInputs | undefined;
  readonly state: ReviewState;
  /** Undefined without `within`. */
  readonly deadline: ReviewDeadline | undefined;
  /** Epoch ms. */
  readonly now: number;
}

/**
 * All notices about a review that are due by now, including those sent long ago. Pure: the ledger knows which were
 * sent. A comment or new figures change the content, so the approvers are notified again.
 */
export function dueNotices(scope: NoticeScope): readonly DueNotice[] {
  const { definition, events, state } = scope;
  const owner = canonicalAddress(definition.owner) ?? definition.owner;
  const { phase, figures } = state;
  const found: DueNotice[] = rejections(scope).flatMap(({ seq, at, by, reason, refetch }) =>
    authors(scope, owner).map((recipient) => ({
      key: `rejected ${seq}`,
      recipient,
      at,
      news: { kind: 'rejected', by: by.name, reason, refetch } as const,
    })),
  );
  const content = events.findLast(({ type }) => type === 'figures' || type === 'comment');
  const at = Math.max(state.since ?? 0, content?.at ?? 0);
  if (phase === 'comments')
    found.push({
      key: `comments ${figures}`,
      recipient: owner,
      at,
      news: { kind: 'comments', sections: state.missingComments },
    });
  if (phase === 'incomplete')
    found.push({ key: `incomplete ${figures}`, recipient: owner, at, news: { kind: 'incomplete' } });
  if (phase === 'approval') found.push(...toApprovers(scope, at, content?.seq ?? 0));
  found.push(...aboutRecipients(scope));
  const last = events.at(-1);
  const within = definition.approval?.within;
  if (phase === 'cancelled' && last?.type === 'cancel' && last.by.principal === DOCKET.principal)
    found.push({
      key: 'cancelled',
      recipient: owner,
      at: last.at,
      news: { kind: 'cancelled', reason: last.reason, days: isLate(last.reason, within) ? within : undefined },
    });
  return found;
}

/**
 * Notices to people who may approve but have not.
 *
 * @param round number of the event that made the content: withdrawing a comment can restore an earlier content, whose
 * approvals no longer count
 */
function toApprovers(scope: NoticeScope, at: number, round: number): DueNotice[] {
  const { state, deadline, now } = scope;
  const { content, need } = state;
  return toCandidates(selectReviewers(scope, now), (deputy) => {
    const due = deadline?.due ?? null;
    const news = { need, ...deputy };
    const first = { key: `approve ${round} ${content}`, at, news: { kind: 'approval', due, ...news } } as const;
    const { reminders, remindedAt } = deadline ?? weeklyReminders(at, now);
    if (reminders === 0) return first;
    // Sends only the last reminder: after an outage, nobody should get all of them at once.
    return { key: `remind ${content} ${reminders}`, at: remindedAt, news: { kind: 'reminder', due, ...news } };
  });
}

/** Notices to people who can still approve a recipient added to the delivered run. */
const aboutRecipients = (scope: NoticeScope): readonly DueNotice[] =>
  proposedRecipients(scope).flatMap((proposal) => {
    const { seq, at, by, recipient: added, reason } = proposal;
    const admitters = proposal.state === 'waiting' ? possibleAdmitters(proposal, scope, scope.now) : [];
    return toCandidates(admitters, (deputy) => {
      const news = { kind: 'recipient', recipient: added, by: by.name, reason, ...deputy } as const;
      return { key: `recipient ${seq}`, at, news };
    });
  });

/** One notice to each person whose address is known; a deputy gets one per delegation. */
const toCandidates = (
  selected: ReturnType<typeof candidates>,
  noticeFor: (deputy: { readonly deputy?: DeputyNews }) => Omit<DueNotice, 'recipient'>,
): DueNotice[] =>
  selected.flatMap(({ email, delegation }) => {
    const recipient = email === undefined ? undefined : canonicalAddress(email);
    if (recipient === undefined) return [];
    if (delegation === undefined) return [{ ...noticeFor({}), recipient }];
    const { seq, from, by, reason, until } = delegation;
    const notice = noticeFor({ deputy: { for: from.name, by: by.name, reason, until } });
    return [{ ...notice, key: `${notice.key} deputy ${seq}`, at: Math.max(notice.at, delegation.at), recipient }];
  });

/** The owner, and the person who triggered the run if their address is known. */
function authors({ order, settings }: NoticeScope, owner: string): readonly string[] {
  const { people } = settings;
  const names = [triggerPerson(order, people)?.person, order.by].flatMap((name) => name ?? []);
  const email = approvers(names, people).find((each) => each.email !== undefined)?.email;
  const address = email === undefined ? undefined : canonicalAddress(email);
  return [...new Set([owner, ...(address === undefined ? [] : [address])])];
}

/** The rejections that counted: one that ended the review, and those after which new figures were fetched. */
function rejections({ events, state: { phase } }: NoticeScope): readonly Extract<ReviewEvent, { type: 'reject' }>[] {
  const found: Extract<ReviewEvent, { type: 'reject' }>[] = [];
  let last: Extract<ReviewEvent, { type: 'reject' }> | undefined;
  for (const event of events) {
    if (event.type === 'reject') last = event;
    if (event.type !== 'figures') continue;
    if (last?.refetch) found.push(last);
    last = undefined;
  }
  const counts = last?.refetch ? phase === 'figures' : phase === 'rejected';
  return last !== undefined && counts ? [...found, last] : found;
}
