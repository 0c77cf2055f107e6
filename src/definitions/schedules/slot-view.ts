import { DateTime } from 'luxon';
import { formatDurationLiteral } from '../schema/values/durations.ts';
import type { Schedule } from './schedule.ts';
import { jitterMs, type Slot } from './slots.ts';

/** A slot as shown by CLI, page and API. Plain data. */
export interface SlotView {
  /** The nominal instant, ISO in UTC: identifies the run, and is the base of its period. */
  readonly at: string;
  /** The same in the schedule's zone: `Mon 2026-11-23 08:00 UTC+01:00`. */
  readonly local: string;
  readonly timezone: string;
  /** When its run starts, ISO in UTC: later than `at` if the schedule has a jitter. */
  readonly begins: string;
  /** The schedule of the slot (`formatSchedule`). */
  readonly schedule: string;
}

/** @param timezone the organization's zone, for schedules without one */
export function slotView(
  { at, schedule }: Slot,
  { org, report }: { readonly org: string; readonly report: string },
  timezone: string,
): SlotView {
  const zone = schedule.timezone ?? timezone;
  return {
    at: new Date(at).toISOString(),
    local: DateTime.fromMillis(at, { zone }).toFormat("ccc yyyy-MM-dd HH:mm 'UTC'ZZ"),
    timezone: zone,
    begins: new Date(at + jitterMs(org, report, at, schedule)).toISOString(),
    schedule: formatSchedule(schedule),
  };
}

/** A schedule on one line: `0 8 * * *, business day -1, from 2026-01-01, jitter 10m`. Defaults are omitted. */
export const formatSchedule = ({
  cron,
  on,
  shift,
  start,
  end,
  jitter,
  prepare,
  late_after,
  catch_up,
  catch_up_window,
}: Schedule): string =>
  [
    cron.trim(),
    on === undefined ? '' : `business day ${on.business_day}`,
    shift === undefined ? '' : `shift ${shift}`,
    start === undefined ? '' : `from ${start}`,
    end === undefined ? '' : `to ${end}`,
    jitter === undefined || jitter === 0 ? '' : `jitter ${formatDurationLiteral(jitter)}`,
    prepare === undefined ? '' : `prepare ${formatDurationLiteral(prepare)}`,
    late_after === undefined ? '' : `late after ${formatDurationLiteral(late_after)}`,
    catch_up === 'latest' ? '' : `catch_up ${catch_up}`,
    catch_up === 'skip' || catch_up_window === DEFAULT_CATCH_UP_WINDOW_S
      ? ''
      : `window ${formatDurationLiteral(catch_up_window)}`,
  ]
    .filter((part) => part !== '')
    .join(', ');

/** Seconds. */
const DEFAULT_CATCH_UP_WINDOW_S = 3 * 86_400;
