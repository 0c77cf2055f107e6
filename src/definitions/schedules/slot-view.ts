import { DateTime } from 'luxon';
import { z } from 'zod';
import { formatDurationLiteral } from '../schema/values/durations.ts';
import type { Schedule } from './schedule.ts';
import { jitterMs, type Slot } from './slots.ts';

/** A slot as CLI, page and API show it. */
export const slotSchema = z
  .object({
    at: z.iso.datetime().describe('The nominal instant, which names the run and from which its period is counted.'),
    local: z.string().meta({ example: 'Mon 2026-11-23 08:00 UTC+01:00' }),
    timezone: z.string(),
    begins: z.iso.datetime().describe('When its run begins: later where the schedule has a jitter.'),
    schedule: z.string(),
  })
  .meta({ id: 'Slot' });
export type SlotView = z.infer<typeof slotSchema>;

/** @param timezone the organization's time zone, for schedules without one */
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

/** A schedule on one line, without defaults: `0 8 * * *, business day -1, from 2026-01-01, jitter 10m`. */
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

/** In seconds. */
const DEFAULT_CATCH_UP_WINDOW_S = 3 * 86_400;
