import { DateTime } from 'luxon';
import { inUnits } from './duration.ts';
import { jitterMs } from './jitter.ts';
import type { Schedule } from './schedule.ts';
import type { Slot } from './slots.ts';

/** A slot as people and programs are shown it. Plain data. */
export interface SlotView {
  /** The nominal instant, ISO, in UTC: what identifies the run and what its period is counted from. */
  readonly at: string;
  /** The same in the schedule's zone: `Mon 2026-11-23 08:00 UTC+01:00`. */
  readonly local: string;
  readonly timezone: string;
  /** When its run begins, ISO, in UTC: later than `at` where the schedule has a jitter. */
  readonly begins: string;
  /** Whose slot it is (`scheduleText`). */
  readonly schedule: string;
}

/** @param timezone the organization's zone, for a schedule that names none */
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
    schedule: scheduleText(schedule),
  };
}

/** A schedule on one line: `0 8 * * *, business day -1, from 2026-01-01, jitter 10m`. What is by default is left out. */
export const scheduleText = ({ cron, on, shift, start, end, jitter, catch_up, catch_up_window }: Schedule): string =>
  [
    cron.trim(),
    on === undefined ? '' : `business day ${on.business_day}`,
    shift === undefined ? '' : `shift ${shift}`,
    start === undefined ? '' : `from ${start}`,
    end === undefined ? '' : `to ${end}`,
    jitter === undefined || jitter === 0 ? '' : `jitter ${inUnits(jitter)}`,
    catch_up === 'latest' ? '' : `catch_up ${catch_up}`,
    catch_up === 'skip' || catch_up_window === DEFAULT_WINDOW ? '' : `window ${inUnits(catch_up_window)}`,
  ]
    .filter((part) => part !== '')
    .join(', ');

/** Seconds. */
const DEFAULT_WINDOW = 3 * 86_400;
