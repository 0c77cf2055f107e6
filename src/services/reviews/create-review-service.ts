import type { Clock } from '../../base/clock.ts';
import type { DocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { stripInvisible } from '../../base/text/bidi.ts';
import { personOf, shellPerson } from '../../definitions/people.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import type { RunQueue } from '../../queue/jobs/run-queue.ts';
import type { RedisRunStore } from '../../queue/runs/run-store.ts';
import { type LoadedReview, loadReview, type Reviews } from '../../run/review/load-review.ts';
import type { NewReviewEvent, ReviewActor } from '../../run/review/review-event.ts';
import type { ReviewInputs } from '../../run/review/review-inputs.ts';
import { type RunRecord, runNotFoundError, WAITING_STATES } from '../../run/run-record.ts';
import { type FindEarlierDelivery, repeatedDelivery } from '../runs/already-delivered.ts';
import { checkComment, commentableSections, normalizeComment } from './comments.ts';
import { carriedComments } from './comments-carried.ts';
import { type FrozenReport, loadFrozenReport } from './frozen-report.ts';
import { reviewDeadline } from './review-deadlines.ts';
import {
  contentChangedError,
  notAllowedError,
  refuseUnreachable,
  reviewConflictError,
  unsettledError,
} from './review-errors.ts';
import type { CommentWarning, Reviewer, ReviewService, ReviewView } from './review-service.ts';
import { approvalRefusal, closedReason, historyOf, isNamed, reviewersOf, stateOfEnded } from './review-view.ts';
import { reviewedFileReader } from './reviewed-files.ts';

export interface ReviewServicePorts {
  readonly reviews: Reviews;
  readonly runs: RedisRunStore;
  readonly queue: RunQueue;
  /** Absent: repeated deliveries are allowed. */
  readonly findDelivered?: FindEarlierDelivery | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** Other events that may come in between before a decision gives up. */
const MAX_TRIES = 20;
/** Digits of a hash that name it. */
const MIN_CONTENT_DIGITS = 8;

/** A review with figures, as it was read. */
interface OpenReview extends LoadedReview {
  readonly record: RunRecord;
  readonly inputs: ReviewInputs;
}

/** What is to be appended to the present review; null: it says so already. */
type NextEvent = (review: OpenReview) => NewReviewEvent | null | Promise<NewReviewEvent | null>;

/**
 * Reviews of an archive. A decision is one event: it is appended only if nothing else was since the review was read, and
 * only if the fold counts it. A crash before the run is reopened is repaired by deciding again, or by the sweep.
 */
export function createReviewService(ports: ReviewServicePorts): ReviewService {
  const { reviews, runs, clock, log } = ports;

  /** Undefined: no review, or none with figures yet. */
  const find = async (run: string): Promise<OpenReview | undefined> => {
    const record = await runs.get(run);
    if (record === undefined) throw runNotFoundError(run);
    const { inputs, ...review } = await loadReview(reviews, refOf(record));
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
      // Another machine's clock may be ahead; the list is in order of time.
      const at = Math.max(event.at, review.events.at(-1)?.at ?? 0);
      if (!(await reviews.append(refOf(review.record), seq, { ...event, seq, at }))) continue;
      const { id, org, report } = review.record;
      log.info('Review event', { run: id, org, report, stage: event.type, who: event.by.name, why: describe(event) });
      const after = (await find(run)) ?? review;
      await reopen(after);
      return after;
    }
    throw unsettledError(run);
  };

  /** Lets a worker continue a run that waits, unless its last attempt knew the last event. */
  async function reopen({ record, events }: OpenReview): Promise<void> {
    const last = events.at(-1);
    if (last === undefined || (record.review?.seq ?? 0) >= last.seq) return;
    const decision = { what: 'review', by: last.by.name, reason: describe(last), at: last.at } as const;
    const reopened = await runs.reopen(record.id, [...WAITING_STATES], decision);
    // Otherwise a worker has it, which reads the events again before it waits.
    if (reopened !== undefined) await ports.queue.requeue(reopened);
  }

  async function viewOf(review: OpenReview, reviewer: Reviewer | undefined): Promise<ReviewView> {
    const { state, events, inputs, record } = review;
    const figures = await figuresOf(review);
    const by = reviewer && actor(review, reviewer);
    const files = state.content === null ? [] : ((await reader(state.content).files(refOf(record))) ?? []);
    // An older version has stored comments as they were typed.
    const comments = state.comments.map((each) => ({ ...each, text: stripInvisible(each.text) }));
    return {
      state: { ...state, comments },
      // As it is now: the decision may have reopened it.
      record: (await runs.get(record.id)) ?? record,
      sections: commentableSections(figures, inputs),
      drafts: await carriedComments(record, figures, state.comments, ports),
      files: files.flatMap(({ name, kind, bytes }) => (kind === 'file' && bytes !== null ? [{ name, bytes }] : [])),
      due: reviewDeadline(state, inputs.approval, figures.settings, clock.now())?.due ?? null,
      reviewers: reviewersOf(review, clock.now()),
      refusal: approvalRefusal(review, by, clock.now()),
      canReject: by !== undefined && closedReason(state) === null && isNamed(review, by, clock.now()),
      delivered: (await deliveredBefore(review, figures))?.message ?? null,
      history: historyOf(events),
    };
  }

  /**
   * The refusal of an approval by which a period is delivered a second time: another run has delivered it while this one
   * waited. A corrected edition replaces what was delivered.
   */
  async function deliveredBefore(
    { state, inputs, record }: OpenReview,
    { definition }: Pick<FrozenReport, 'definition'>,
  ): Promise<DocketError | undefined> {
    const waits = closedReason(state) === null && state.phase !== 'ready';
    if (!waits || inputs.approval === undefined || record.corrects !== undefined) return undefined;
    return repeatedDelivery(record, definition, { find: ports.findDelivered, now: clock.now(), refused: 'approved' });
  }

  /** Also of the last figures while new ones are fetched. */
  const figuresOf = ({ record, events }: OpenReview): Promise<FrozenReport> => {
    const last = events.findLast((event) => event.type === 'figures');
    return loadFrozenReport(reviews, refOf(record), last?.figures ?? '');
  };

  const reader = (content: string) => reviewedFileReader(reviews, content);

  return {
    view: async (run, reviewer) => {
      const review = await find(run);
      return review && viewOf(review, reviewer);
    },

    file: async (run, name) => {
      const review = await find(run);
      return review?.state.content == null ? undefined : reader(review.state.content).file(refOf(review.record), name);
    },

    preview: async (run, body) => {
      const review = await find(run);
      return review?.state.content == null
        ? undefined
        : reader(review.state.content).preview(refOf(review.record), body);
    },

    comment: async (run, section, typed, by) => {
      const text = typed === null ? null : normalizeComment(typed);
      let warnings: readonly CommentWarning[] = [];
      const review = await append(run, async (before) => {
        assertTakesEvents(before);
        warnings = checkComment(section, text, await figuresOf(before));
        const printed = before.state.comments.find((each) => each.section === section);
        if ((printed?.text ?? null) === text) return null;
        const event = { type: 'comment', at: clock.now(), by: actor(before, by), section, text } as const;
        refuseUnreachable(before, event);
        return event;
      });
      return { view: await viewOf(review, by), warnings };
    },

    approve: async (run, named, reason, by, again = false) => {
      const review = await append(run, async (before) => {
        const content = requireContent(before, named);
        const who = actor(before, by);
        if (before.state.approvals.some((given) => given.by.person === who.person)) return null;
        assertTakesEvents(before);
        const refusal = approvalRefusal(before, who, clock.now());
        if (refusal !== null) throw notAllowedError(run, 'approve', refusal);
        const repeated = again ? undefined : await deliveredBefore(before, await figuresOf(before));
        if (repeated !== undefined) throw repeated;
        return { type: 'approve', at: clock.now(), by: who, content, reason, ...(again && { again: true as const }) };
      });
      return viewOf(review, by);
    },

    reject: async (run, named, { reason, refetch }, by) => {
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
      return viewOf(review, by);
    },
  };
}

const refOf = ({ id, org, report }: RunRecord): RunRef => ({ id, org, report });

const actor = ({ inputs }: OpenReview, { kind, name, subject }: Reviewer): ReviewActor =>
  kind === 'shell' ? shellPerson(name) : personOf({ kind, name, subject }, inputs.people);

/** The event as the run's record and the log say it. */
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
    case 'figures':
    case 'seal':
      return event.type;
  }
}

/** Throws `run.conflict` where the review takes nothing any more. */
function assertTakesEvents({ state, record }: OpenReview): void {
  const closed = closedReason(state);
  if (closed !== null) throw reviewConflictError(record.id, closed);
}

const isNamedBy = (content: string, named: string): boolean =>
  named.length >= MIN_CONTENT_DIGITS && content.startsWith(named);

/** The present content. Throws `review.content_changed` where the reviewer has seen another one. */
function requireContent({ state: { content }, record }: OpenReview, named: string): string {
  if (content !== null && isNamedBy(content, named)) return content;
  throw contentChangedError(record.id, named, content);
}

/** Whether the last event is this rejection: it is repeated. */
function hasRejected({ events }: OpenReview, { person }: ReviewActor, named: string): boolean {
  const last = events.at(-1);
  return last?.type === 'reject' && last.by.person === person && isNamedBy(last.content, named);
}
