import { toDocketError } from '../../base/error.ts';
import { type ReviewProgress, type RunOrder, WAITING_STATES } from '../../run/run-record.ts';
import type { Deployment } from '../deployment/deployment.ts';

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
