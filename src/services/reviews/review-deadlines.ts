import { DAY_MS } from '../../base/time.ts';
import { businessDays, type Calendar, calendarSchema } from '../../definitions/schedules/calendar.ts';
import type { CivilDay } from '../../definitions/schedules/civil-day.ts';
import { localToInstants, zoneOffsets } from '../../definitions/schedules/local-time.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { ApprovalSpec } from '../../definitions/schema/review.ts';
import type { ReviewState } from '../../run/review/review-state.ts';

/** Most reminders of approvers. */
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

/**
 * When a number of business days has passed: at the end of the n-th business day after the day of `from`, in the
 * organization's time zone. With one day, what begins on a Friday or a Saturday ends at midnight after Monday.
 *
 * Without a calendar, Saturday and Sunday are days off. Public holidays only count in years for which they are known.
 *
 * @param from epoch ms
 * @param days 1 or more
 * @returns epoch ms
 */
export function businessDeadline(
  from: number,
  days: number,
  { calendar, timezone }: { readonly calendar?: Calendar | undefined; readonly timezone: string },
): number {
  const offsetAt = zoneOffsets(timezone);
  const settings = calendar ?? calendarSchema.parse({});
  const known = businessDays(settings);
  const withoutHolidays = businessDays({ ...settings, country: undefined, region: undefined });
  const isBusinessDay = (day: CivilDay) => known.isBusinessDay(day) ?? withoutHolidays.isBusinessDay(day) ?? true;
  let day = Math.floor((from + offsetAt(from)) / DAY_MS);
  for (let left = days; left > 0; ) {
    day += 1;
    if (isBusinessDay(day)) left -= 1;
  }
  const [end = (day + 1) * DAY_MS] = localToInstants((day + 1) * DAY_MS, offsetAt, false);
  return end;
}

/** The reminders of an approval without `within`: one each week while it waits. @param since epoch ms, as `now` */
export function weeklyReminders(since: number, now: number): Pick<ReviewDeadline, 'reminders' | 'remindedAt'> {
  const weeks = Math.max(0, Math.floor((now - since) / (7 * DAY_MS)));
  const reminders = Math.min(weeks, MAX_REMINDERS);
  return { reminders, remindedAt: since + reminders * 7 * DAY_MS };
}
