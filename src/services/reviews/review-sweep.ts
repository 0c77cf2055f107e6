import { forEachWithConcurrency } from '../../base/concurrency.ts';
import { isRedisOutage, isStorageOutage, toDocketError } from '../../base/error.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import { type LoadedReview, loadReview } from '../../run/review/load-review.ts';
import { parseOpenReview } from '../../run/review/open-review.ts';
import type { ReviewActor } from '../../run/review/review-event.ts';
import type { ReviewPhase, ReviewState } from '../../run/review/review-state.ts';
import {
  type ReviewProgress,
  type RunOrder,
  type RunRecord,
  TERMINAL_STATES,
  WAITING_STATES,
} from '../../run/run-record.ts';
import type { Deployment, Sending } from '../deployment/deployment.ts';
import { createReviewNotices, type ReviewNotices } from './approver-notices.ts';
import { DOCKET, lateReason } from './due-notices.ts';
import { reviewDeadline } from './review-deadlines.ts';

interface SweepParts extends Deployment {
  readonly notices: ReviewNotices;
}

/** Phases in which people must act. */
const WAITING_PHASES: ReadonlySet<ReviewPhase> = new Set<ReviewPhase>(['comments', 'incomplete', 'approval']);

/**
 * Checks each open review, periodically in every worker. It needs no leader: an event is appended once, a record is
 * reopened once, and a notice is a ledger row.
 *
 * Restores records that Redis has lost, from the archive. Reopens runs whose review continued without the queue being
 * notified. Cancels runs that were not approved in time, or reminds the approvers. Sends notices. Closes reviews that
 * have ended.
 *
 * @param observeOverdue called after each complete round with the number of reviews that wait for approval past their
 * `within`
 */
export function createReviewSweep(
  deployment: Deployment,
  sending: Sending,
  observeOverdue?: (count: number) => void,
): () => Promise<void> {
  const ports: SweepParts = { ...deployment, notices: createReviewNotices(deployment, sending) };
  const { reviews, log } = ports;
  let overdue = 0;
  const sweep = async (open: OpenedReview): Promise<void> => {
    try {
      if (await sweepOne(open, ports)) overdue += 1;
    } catch (thrown) {
      const error = toDocketError(thrown);
      if (isRedisOutage(error) || isStorageOutage(error)) throw error;
      // An unreadable review must not stop the others.
      log.error('Review could not be continued', { run: open.run.id, error: error.toJSON() });
    }
  };
  return async () => {
    overdue = 0;
    const batch: OpenedReview[] = [];
    const sweepBatch = () => forEachWithConcurrency(batch.splice(0), CONCURRENCY, sweep);
    try {
      for await (const open of reviews.listOpen()) {
        batch.push(open);
        if (batch.length === CONCURRENCY) await sweepBatch();
      }
    } finally {
      // Sweeps the last batch even if the listing ends with an unreadable review.
      await sweepBatch();
    }
    observeOverdue?.(overdue);
  };
}

interface OpenedReview {
  readonly run: RunRef;
  readonly order: string;
}

/** A review takes five or more requests to the archive. A thousand reviews should not take longer than a minute. */
const CONCURRENCY = 8;

/** Returns whether the review's approval is overdue. */
async function sweepOne({ run, order: stored }: OpenedReview, ports: SweepParts): Promise<boolean> {
  const { reviews, runs, definitions, archive, notices, switches, clock } = ports;
  const { order, definition, settings } = parseOpenReview(stored);
  if ((await definitions.get(order.digest)) === undefined) await definitions.put({ definition, settings });
  const record = await runs.get(run.id);
  if (record === undefined) {
    await restoreRecord(order, ports);
    return false;
  }
  const review = await loadReview(reviews, run);
  const { approval } = definition;
  const { since } = review.state;
  const stoppedMs = since === null ? 0 : await switches.stoppedMs(run.org, since);
  const deadline = reviewDeadline(review.state, approval, settings, clock.now(), stoppedMs);
  if (deadline?.cancels === true) {
    await cancel(run, review, DOCKET, lateReason(approval?.within ?? 0), ports);
    return sweepOne({ run, order: stored }, ports);
  }
  const published = (await archive.peek(run)) !== undefined;
  const step = stepFor(record, review.state, published);
  if (step === 'reopen') {
    await reopen(record, 'the review went on', ports);
    return false;
  }
  if (step === 'cancel') {
    const who = record.cancel?.by;
    const by = who === undefined ? DOCKET : { person: who, name: who, principal: `name:${who}` };
    await cancel(run, review, by, record.cancel?.reason ?? record.error?.message ?? 'The run was cancelled.', ports);
  }
  // An open review may wait for longer than records are kept.
  await runs.update(run.id, {});
  if (step === 'cancel' || step === 'running' || step === 'failed') return false;
  const settled = await notices.send({
    order,
    definition,
    settings,
    events: review.events,
    inputs: review.inputs,
    state: review.state,
    deadline,
    now: clock.now(),
  });
  if (step === 'close' && settled) await reviews.close(run);
  return step === 'none' && deadline !== undefined && deadline.due <= clock.now();
}

/**
 * What a review needs. `none`: the run waits for people. `running`: a worker has the run, or will get it. `failed`: a
 * person can retry it. `cancel`: the run was cancelled, and the review must not begin again.
 */
export type ReviewStep = 'none' | 'running' | 'failed' | 'reopen' | 'cancel' | 'close';

export function stepFor(
  { state, review }: Pick<RunRecord, 'state' | 'review'>,
  { phase, content }: Pick<ReviewState, 'phase' | 'content'>,
  isPublished: boolean,
): ReviewStep {
  if (!TERMINAL_STATES.has(state)) return 'running';
  const waits = WAITING_STATES.has(state);
  if (isPublished || phase === 'rejected' || phase === 'cancelled') return waits ? 'reopen' : 'close';
  // After the seal no event can follow, so a run that was cancelled before publication keeps its review: a retry
  // publishes what was approved.
  if (!waits) return state === 'cancelled' && phase !== 'sealed' ? 'cancel' : 'failed';
  // The last attempt knew all current events, and has made the files for them.
  const isCurrent = review !== undefined && review.phase === phase && review.content === content;
  return isCurrent && WAITING_PHASES.has(phase) ? 'none' : 'reopen';
}

/** Ends the review. False if another event came first. */
async function cancel(
  run: RunRef,
  { state, events }: LoadedReview,
  by: ReviewActor,
  reason: string,
  { reviews, clock, log }: Deployment,
): Promise<boolean> {
  const seq = state.seq + 1;
  // Another machine's clock may be ahead, but the list must be in order of time.
  const at = Math.max(clock.now(), events.at(-1)?.at ?? 0);
  const appended = await reviews.append(run, seq, { type: 'cancel', seq, at, by, reason });
  if (appended) log.info('Review cancelled', { run: run.id, org: run.org, report: run.report, why: reason });
  return appended;
}

/** Restores a run's record. The worker finds the run's progress in the archive. */
async function restoreRecord(order: RunOrder, ports: Deployment): Promise<void> {
  const { runs, log } = ports;
  const { opened } = await runs.open(order);
  if (!opened) return;
  const { id: run, org, report } = order;
  log.warn('Record of a run in review restored from the archive', { run, org, report });
  // Reopened, so that it belongs to the workers whatever its trigger was.
  await runs.update(run, { state: 'held' });
  await reopen(order, 'the record was lost', ports);
}

async function reopen({ id }: Pick<RunOrder, 'id'>, reason: string, { runs, queue, clock, log }: Deployment) {
  const record = await runs.reopen(id, [...WAITING_STATES], { what: 'review', by: 'docket', reason, at: clock.now() });
  // Another process has already reopened it.
  if (record === undefined) return;
  await queue.requeue(record);
  log.info('Run reopened', {
    run: id,
    org: record.org,
    report: record.report,
    stage: 'review',
    who: 'docket',
    why: reason,
  });
}

/**
 * Reopens a run that has just begun to wait, if its review has an event that the attempt did not see. Resolves to
 * whether the run is queued again. If the review cannot be read now, the sweep continues it later.
 */
export const createReviewContinuer =
  ({ reviews, runs, log }: Deployment) =>
  async (order: RunOrder, { seq }: ReviewProgress): Promise<boolean> => {
    try {
      const last = (await reviews.events(order)).at(-1);
      if (last === undefined || last.seq <= seq) return false;
      // The event's writer has already reopened the run, whose job is still this one.
      if ((await runs.get(order.id))?.state === 'queued') return true;
      const reason = `Event ${last.seq} of the review: ${last.type}`;
      const decision = { what: 'review', by: last.by.name, reason, at: last.at } as const;
      return (await runs.reopen(order.id, [...WAITING_STATES], decision)) !== undefined;
    } catch (thrown) {
      log.warn('The review of a run could not be read again', { run: order.id, error: toDocketError(thrown).toJSON() });
      return false;
    }
  };
