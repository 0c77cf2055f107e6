import { businessDeadline } from '../../definitions/schedules/business-deadline.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { ApprovalSpec } from '../../definitions/schema/review.ts';
import type { ReviewState } from '../../run/review/review-state.ts';

/** Reminders after the deadline, at most. */
const MAX_REMINDERS = 5;

export interface ReviewDeadline {
  /** When `within` ends: epoch ms. */
  readonly due: number;
  /** Reminders that are due by now: one after `due`, and one after each further business day. 0: `due` is not over. */
  readonly reminders: number;
  /** Epoch ms of the last of them; `due` without one. */
  readonly remindedAt: number;
  /** `due` is over, and `otherwise` is `cancel`. */
  readonly cancels: boolean;
}

/**
 * The deadline of an approval, from the moment at which the run began to wait for it: a comment that changes the content asks
 * again, but gives no more time. It does not run in other phases. Undefined without `within`.
 *
 * @param now epoch ms
 * @param stoppedMs ms since `since` in which deliveries were stopped: the deadline stands still meanwhile
 */
export function reviewDeadline(
  { phase, since }: Pick<ReviewState, 'phase' | 'since'>,
  approval: ApprovalSpec | undefined,
  settings: Pick<OrgSettings, 'calendar' | 'timezone'>,
  now: number,
  stoppedMs = 0,
): ReviewDeadline | undefined {
  if (approval?.within === undefined || phase !== 'approval' || since === null) return undefined;
  const due = businessDeadline(since + stoppedMs, approval.within, settings);
  if (now < due) return { due, reminders: 0, remindedAt: due, cancels: false };
  if (approval.otherwise === 'cancel') return { due, reminders: 0, remindedAt: due, cancels: true };
  let [reminders, remindedAt] = [1, due];
  for (; reminders < MAX_REMINDERS; reminders += 1) {
    const next = businessDeadline(due - 1, reminders, settings);
    if (now < next) break;
    remindedAt = next;
  }
  return { due, reminders, remindedAt, cancels: false };
}
