import { toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import type { RedisRunStore } from '../../queue/runs/run-store.ts';
import type { Reviews } from '../../run/review/load-review.ts';
import { type ReviewProgress, type RunOrder, WAITING_STATES } from '../../run/run-record.ts';

/**
 * Reopens a run that has just begun to wait, if its review has an event that its attempt did not know. Resolves to whether it
 * is queued again. A review that cannot be read now waits for the sweep.
 */
export function createReviewContinuer({
  reviews,
  runs,
  log,
}: {
  readonly reviews: Reviews;
  readonly runs: RedisRunStore;
  readonly log: Log;
}): (order: RunOrder, review: ReviewProgress) => Promise<boolean> {
  return async (order, { seq }) => {
    try {
      const last = (await reviews.events(order)).at(-1);
      if (last === undefined || last.seq <= seq) return false;
      // The writer of the event has reopened the run by now; its job is still this one.
      if ((await runs.get(order.id))?.state === 'queued') return true;
      const reason = `Event ${last.seq} of the review: ${last.type}`;
      const decision = { what: 'review', by: last.by.name, reason, at: last.at } as const;
      return (await runs.reopen(order.id, [...WAITING_STATES], decision)) !== undefined;
    } catch (thrown) {
      log.warn('The review of a run could not be read again', { run: order.id, error: toDocketError(thrown).toJSON() });
      return false;
    }
  };
}
