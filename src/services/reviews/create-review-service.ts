import type { DocketError } from '../../base/error.ts';
import { stripInvisible } from '../../base/text/bidi.ts';
import { resolvePerson, shellPerson } from '../../definitions/people.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import { findVoter, voterName } from '../../run/review/delegations.ts';
import { type LoadedReview, loadReview } from '../../run/review/load-review.ts';
import { openReviewText } from '../../run/review/open-review.ts';
import type { NewReviewEvent, ReviewActor } from '../../run/review/review-event.ts';
import type { ReviewInputs } from '../../run/review/review-inputs.ts';
import { commentKey } from '../../run/review/review-state.ts';
import { type RunRecord, runNotFoundError, WAITING_STATES } from '../../run/run-record.ts';
import type { AuditEvent } from '../audit-log.ts';
import { findFrozenDefinition } from '../definitions/frozen-definition.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { type FindEarlierDelivery, findRepeated, repeatedDelivery } from '../runs/already-delivered.ts';
import type { RunFile } from '../runs/run-file-reader.ts';
import { checkComment, commentableSections, normalizeComment } from './comments.ts';
import { carriedComments } from './comments-carried.ts';
import { type DelegationRequest, newDelegation, possibleDeputies, takesDelegations } from './delegate.ts';
import { reviewDeadline } from './review-deadlines.ts';
import {
  contentChangedError,
  notAllowedError,
  refuseUnreachable,
  reviewConflictError,
  unsettledError,
} from './review-errors.ts';
import type { CommentWarning, Reviewer, ReviewView } from './review-service.ts';
import { approvalRefusal, buildHistory, closedReason, selectReviewers, stateOfEnded } from './review-view.ts';
import { type FrozenReport, loadFrozenReport, reviewedFileReader, reviewedPacks } from './reviewed-files.ts';

/** How often other events may come in between before a decision gives up. */
const MAX_TRIES = 20;
/** Digits that are enough to name a hash. The audit log shows as many. */
const MIN_CONTENT_DIGITS = 8;
const AUDITED_CONTENT_DIGITS = 16;

/** A review with figures, as it was read. */
interface OpenReview extends LoadedReview {
  readonly record: RunRecord;
  readonly inputs: ReviewInputs;
}

/** The event to append to the current review. Null: the review already says it. */
type NextEvent = (review: OpenReview) => NewReviewEvent | null | Promise<NewReviewEvent | null>;

export type ReviewService = ReturnType<typeof createReviewService>;

/**
 * Adds comments and decisions to runs that are not delivered yet. Each appends one event to the review, reopens the run
 * for a worker, and may be repeated. The event is appended only if no other one was since the review was read, and only
 * if it would count; the audit log then records it. After a crash before the run is reopened, a repetition completes it.
 *
 * Throws `run.not_found`, `run.conflict` (no review, or it has ended), `review.content_changed` (the named content is
 * not current), `review.not_allowed`, `review.comment_invalid` (an unknown reference, or too long), `already_delivered`
 * (another run has delivered the period), `approval.unreachable` (the author is needed as approver).
 *
 * @param findDelivered undefined: repeated deliveries are allowed
 */
export function createReviewService(deployment: Deployment, findDelivered: FindEarlierDelivery | undefined) {
  const { reviews, runs, queue, audit, clock, log } = deployment;

  /** Undefined if there is no review, or none with figures yet. */
  const find = async (run: string): Promise<OpenReview | undefined> => {
    const record = await runs.get(run);
    if (record === undefined) throw runNotFoundError(run);
    const { inputs, ...review } = await loadReview(reviews, toRunRef(record));
    if (inputs === undefined) return undefined;
    return { ...review, state: stateOfEnded({ ...review, inputs }, record), inputs, record };
  };

  const append = async (run: string, next: NextEvent): Promise<OpenReview> => {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const review = await find(run);
      if (review === undefined) throw reviewConflictError(run, 'it has no review, or its figures are not fetched yet');
      const event = await next(review);
      if (event === null) {
        await reopen(review);
        return review;
      }
      const seq = review.state.seq + 1;
      // Another machine's clock may be ahead, but the list must be in order of time.
      const at = Math.max(event.at, review.events.at(-1)?.at ?? 0);
      if (!(await reviews.append(toRunRef(review.record), seq, { ...event, seq, at }))) continue;
      const { id, org, report } = review.record;
      log.info('Review event', { run: id, org, report, stage: event.type, who: event.by.name, why: describe(event) });
      const after = (await find(run)) ?? review;
      await reopen(after);
      return after;
    }
    throw unsettledError(run);
  };

  /** Lets a worker continue a waiting run, unless its last attempt saw the last event. */
  async function reopen({ record, events }: OpenReview): Promise<void> {
    // A new deputy changes nothing for a worker.
    const last = events.findLast(({ type }) => type !== 'delegate');
    if (last === undefined || (record.review?.seq ?? 0) >= last.seq) return;
    const decision = { what: 'review', by: last.by.name, reason: describe(last), at: last.at } as const;
    const reopened = await runs.reopen(record.id, [...WAITING_STATES], decision);
    // Otherwise a worker has the run, and reads the events again before it waits.
    if (reopened !== undefined) await queue.requeue(reopened);
  }

  async function buildView(review: OpenReview, reviewer: Reviewer | undefined): Promise<ReviewView> {
    const [{ state, events, inputs, record }, figures] = [review, await loadFigures(review)];
    // Unreadable switches must not hide the review: only its deadline depends on them.
    const stoppedMs = await deployment.switches.stoppedMs(record.org, state.since ?? clock.now()).catch(() => 0);
    const by = reviewer && actor(review, reviewer);
    const files = state.content === null ? [] : ((await reader(state.content).files(toRunRef(record))) ?? []);
    // An older version has stored comments exactly as they were typed.
    const comments = state.comments.map((each) => ({ ...each, text: stripInvisible(each.text) }));
    return {
      state: { ...state, comments },
      // The current record, because the decision may have reopened the run.
      record: (await runs.get(record.id)) ?? record,
      sections: commentableSections(figures, inputs),
      drafts: await carriedComments(record, figures, state.comments, deployment),
      files: files.flatMap(({ name, kind, bytes }) => (kind === 'file' && bytes !== null ? [{ name, bytes }] : [])),
      packs: state.content === null ? [] : await reviewedPacks(reviews, toRunRef(record), state.content),
      due: reviewDeadline(state, inputs.approval, figures.settings, clock.now(), stoppedMs)?.due ?? null,
      reviewers: selectReviewers(review, clock.now()).map(({ voter }) => voterName(voter)),
      deputies: by === undefined ? [] : possibleDeputies(review, by, clock.now()),
      refusal: approvalRefusal(review, by, clock.now()),
      canReject: by !== undefined && closedReason(state) === null && isNamed(review, by, clock.now()),
      delivered: (await deliveredBefore(review, figures))?.message ?? null,
      history: buildHistory(events),
    };
  }

  /**
   * The error if an approval would deliver a period twice: another run has delivered it while this one waited. A
   * corrected edition is allowed to.
   */
  async function deliveredBefore(
    { state, inputs, record }: OpenReview,
    { definition }: Pick<FrozenReport, 'definition'>,
  ): Promise<DocketError | undefined> {
    const waits = closedReason(state) === null && state.phase !== 'ready';
    if (!waits || inputs.approval === undefined || record.corrects !== undefined) return undefined;
    return repeatedDelivery(record, definition, { find: findDelivered, now: clock.now(), refused: 'approved' });
  }

  /** Uses the last figures even while new ones are fetched. */
  const loadFigures = ({ record, events }: OpenReview, value?: string): Promise<FrozenReport> => {
    const last = events.findLast((event) => event.type === 'figures');
    return loadFrozenReport(reviews, toRunRef(record), last?.figures ?? '', value);
  };

  const reader = (content: string) => reviewedFileReader(reviews, content);

  const record = async (event: AuditEvent, { record: of }: ReviewView, by: Reviewer, why: string): Promise<void> => {
    const { id: run, org, report } = of;
    const { name: who, from, kind, subject } = by;
    await audit.record({
      event,
      who,
      run,
      org,
      report,
      why,
      from,
      ...(kind === 'account' ? { account: subject } : {}),
    });
  };

  return {
    /** Undefined if the run has no review. */
    view: async (run: string, reviewer: Reviewer | undefined): Promise<ReviewView | undefined> => {
      const review = await find(run);
      return review && buildView(review, reviewer);
    },

    /** A file of the current content by name, without the line that names the approvers. Undefined until it is made. */
    file: async (run: string, name: string): Promise<RunFile | undefined> => {
      const review = await find(run);
      return review?.state.content == null
        ? undefined
        : reader(review.state.content).file(toRunRef(review.record), name);
    },

    /** The current content's e-mail as one HTML page; undefined until it is made. @param body see `RunFileReader` */
    preview: async (run: string, body?: string): Promise<string | undefined> => {
      const review = await find(run);
      return review?.state.content == null
        ? undefined
        : reader(review.state.content).preview(toRunRef(review.record), body);
    },

    /**
     * The audit log gets no text. @param section null: the whole report. @param typed null: withdraws the comment.
     * @param value with `split`: the comment is only for the pack of this value
     */
    comment: async (
      run: string,
      section: string | null,
      typed: string | null,
      by: Reviewer,
      value?: string,
    ): Promise<{ readonly view: ReviewView; readonly warnings: readonly CommentWarning[] }> => {
      const text = typed === null ? null : normalizeComment(typed);
      let warnings: readonly CommentWarning[] = [];
      const review = await append(run, async (before) => {
        assertTakesEvents(before);
        const place = { section, ...(value === undefined ? {} : { value }) };
        // A comment that is left over for a missing pack can still be withdrawn.
        warnings = checkComment(section, text, await loadFigures(before, text === null ? undefined : value));
        const printed = before.state.comments.find((each) => commentKey(each) === commentKey(place));
        if ((printed?.text ?? null) === text) return null;
        const event = { type: 'comment', at: clock.now(), by: actor(before, by), ...place, text } as const;
        refuseUnreachable(before, event);
        return event;
      });
      const view = await buildView(review, by);
      const on = section === null ? 'on the whole report' : `on section ${section}`;
      const of = value === undefined ? '' : ` for ${value}`;
      await record('run.commented', view, by, `${on}${of}${typed === null ? ', withdrawn' : ''}`);
      return { view, warnings };
    },

    /**
     * @param named SHA-256 (hex) of what the reviewer has seen, or a prefix of eight digits or more
     * @param again approves even if the period was delivered before
     */
    approve: async (run: string, named: string, reason: string, by: Reviewer, again = false): Promise<ReviewView> => {
      const review = await append(run, async (before) => {
        const content = requireContent(before, named);
        const who = actor(before, by);
        if (before.state.approvals.some((given) => given.by.person === who.person)) return null;
        assertTakesEvents(before);
        const refusal = approvalRefusal(before, who, clock.now());
        if (refusal !== null) throw notAllowedError(run, 'approve', refusal);
        const figures = await loadFigures(before);
        const repeated = again ? undefined : await deliveredBefore(before, figures);
        if (repeated !== undefined) throw repeated;
        const at = clock.now();
        const rule = { find: findDelivered, now: at };
        const repeats = again ? await findRepeated(before.record, figures.definition, rule) : {};
        return { type: 'approve', at, by: who, content, reason, ...(again && { again: true as const }), ...repeats };
      });
      const view = await buildView(review, by);
      const what = `content ${auditedContent(view, named)}${again ? ', to be delivered again' : ''}`;
      await record('run.approved', view, by, `${what}: ${reason}`);
      return view;
    },

    /** Names a deputy, who gets a notice. May be repeated. */
    delegate: async (run: string, request: DelegationRequest, by: Reviewer): Promise<ReviewView> => {
      const review = await append(run, async (before) => {
        if (!takesDelegations(before)) assertTakesEvents(before);
        const { timezone } = (await loadFigures(before)).settings;
        return newDelegation(run, request, actor(before, by), before, clock.now(), timezone);
      });
      const { record: order } = review;
      // After the seal the review is closed, so the sweep sends the notice.
      const frozen = review.state.phase === 'sealed' ? await findFrozenDefinition(order, deployment.definitions) : null;
      if (frozen) await reviews.open(toRunRef(order), openReviewText({ order, ...frozen }));
      const view = await buildView(review, by);
      const { to, until, reason } = request;
      const term = until === undefined ? '' : ` until ${until}`;
      await record('run.delegated', view, by, `${to} for ${request.from ?? by.name}${term}: ${reason}`);
      return view;
    },

    /** @param named see `approve` */
    reject: async (
      run: string,
      named: string,
      { reason, refetch }: { readonly reason: string; readonly refetch: boolean },
      by: Reviewer,
    ): Promise<ReviewView> => {
      const review = await append(run, (before) => {
        const who = actor(before, by);
        if (hasRejected(before, who, named)) return null;
        assertTakesEvents(before);
        const content = requireContent(before, named);
        if (before.inputs.approval === undefined) {
          throw reviewConflictError(run, 'its report needs no approval. To end the run, cancel it');
        }
        if (!isNamed(before, who, clock.now())) {
          throw notAllowedError(run, 'reject', approvalRefusal(before, who, clock.now()) ?? '');
        }
        return { type: 'reject', at: clock.now(), by: who, content, reason, refetch };
      });
      const view = await buildView(review, by);
      const what = `content ${auditedContent(view, named)}${refetch ? ', to be fetched again' : ''}`;
      await record('run.rejected', view, by, `${what}: ${reason}`);
      return view;
    },
  };
}

/** The decided content. A reviewer may have named only its first eight digits. */
const auditedContent = ({ state }: ReviewView, named: string): string =>
  (state.content?.startsWith(named) === true ? state.content : named).slice(0, AUDITED_CONTENT_DIGITS);

const toRunRef = ({ id, org, report }: RunRecord): RunRef => ({ id, org, report });

const actor = ({ inputs }: OpenReview, { kind, name, subject }: Reviewer): ReviewActor =>
  kind === 'shell' ? shellPerson(name) : resolvePerson({ kind, name, subject }, inputs.people);

/** Describes the event for the run's record and the log. */
function describe(event: NewReviewEvent): string {
  switch (event.type) {
    case 'comment':
      return `${event.text === null ? 'Comment withdrawn' : 'Comment'} on ${event.section === null ? 'the whole report' : event.section}`;
    case 'approve':
      return `Approved: ${event.reason}`;
    case 'reject':
      return `Rejected: ${event.reason}`;
    case 'release':
      return `Released: ${event.reason}`;
    case 'cancel':
      return `Cancelled: ${event.reason}`;
    case 'recipient':
      return `Recipient added: ${event.reason}`;
    case 'admit':
      return `Recipient ${event.admitted ? 'approved' : 'rejected'}: ${event.reason}`;
    case 'delegate':
      return `${event.to} named deputy of ${event.from}: ${event.reason}`;
    case 'figures':
    case 'seal':
      return event.type;
  }
}

/** Throws `run.conflict` if the review accepts no more events. */
function assertTakesEvents({ state, record }: OpenReview): void {
  const closed = closedReason(state);
  if (closed !== null) throw reviewConflictError(record.id, closed);
}

/** Whether the person has a seat, whatever they have written. */
const isNamed = ({ state, inputs }: OpenReview, by: ReviewActor, at: number): boolean =>
  findVoter(by, at, state, inputs) !== undefined;

const isNamedBy = (content: string, named: string): boolean =>
  named.length >= MIN_CONTENT_DIGITS && content.startsWith(named);

/** The current content. Throws `review.content_changed` if the reviewer has seen another one. */
function requireContent({ state: { content }, record }: OpenReview, named: string): string {
  if (content !== null && isNamedBy(content, named)) return content;
  throw contentChangedError(record.id, named, content);
}

/** Whether the last event is this rejection, so that the request is a repetition. */
function hasRejected({ events }: OpenReview, { person }: ReviewActor, named: string): boolean {
  const last = events.at(-1);
  return last?.type === 'reject' && last.by.person === person && isNamedBy(last.content, named);
}
