import { businessDeadline } from '../../definitions/schedules/business-deadline.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { ApprovalSpec } from '../../definitions/schema/review.ts';
import type { ReviewState } from '../../run/review/review-state.ts';

/** Most reminders after the deadline. */
const MAX_REMINDERS = 5;

export interface ReviewDeadline {
  /** When `within` ends: epoch ms. */
  readonly due: number;
  /** Number of reminders due by now: one after `due`, and another after each further business day. 0 before `due`. */
  readonly reminders: number;
  /** When the last of them was due, epoch ms; `due` if there is none. */
  readonly remindedAt: number;
  /** Whether `due` has passed and `otherwise` is `cancel`. */
  readonly cancels: boolean;
}

/**
 * The deadline of an approval. It counts from when the run began to wait for approval: a comment that changes the
 * content notifies the approvers again, but gives them no more time. There is no deadline in other phases. Undefined
 * without `within`.
 *
 * @param now epoch ms
 * @param stoppedMs ms since `since` in which deliveries were stopped: they extend the deadline
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
