import { z } from 'zod';
import { durationSchema } from '../schema/values/durations.ts';
import { zoneSchema } from '../schema/values/primitives.ts';
import { cronError, hasTimesWithin, runsOnAnyDay } from './cron.ts';

export const CATCH_UP = ['skip', 'latest', 'all'] as const;
const SHIFTS = ['next_business_day', 'previous_business_day'] as const;

const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
const MINUTE_S = 60;
/** The longest `catch_up_window`, in seconds. */
export const MAX_CATCH_UP_WINDOW_S = 31 * DAY_S;
/** The most business days of a month. */
const MAX_BUSINESS_DAYS = 31;

const cronSchema = z.string().superRefine((cron, context) => {
  const message = cronError(cron);
  if (message === undefined) return;
  context.addIssue({ code: 'custom', message, params: { next: 'correct it, e.g. "0 8 * * MON" for Mondays at 8:00' } });
});

const BUSINESS_DAY_DESCRIPTION = `a business day of the month: 1 is the first, -1 the last, up to ${MAX_BUSINESS_DAYS}`;

/** When a report runs. Cron has five fields or an `@` form. Default time zone: the organization's. */
export const scheduleSchema = z
  .strictObject({
    cron: cronSchema.describe(
      'Minute, hour, day of month, month, day of week; or @hourly, @daily, @weekly, @monthly, @yearly. If a change of summer time skips the time of a slot, it runs once right after the change; a time that occurs twice runs once; "every hour" stays every hour.',
    ),
    timezone: zoneSchema.optional().describe("IANA zone; defaults to the organization's."),
    start: z.iso
      .date('a date, YYYY-MM-DD')
      .optional()
      .describe("The first day on which it may run, YYYY-MM-DD in the schedule's zone."),
    end: z.iso
      .date('a date, YYYY-MM-DD')
      .optional()
      .describe("The last day on which it may run, YYYY-MM-DD in the schedule's zone."),
    on: z
      .strictObject({
        business_day: z
          .int(BUSINESS_DAY_DESCRIPTION)
          .min(-MAX_BUSINESS_DAYS, BUSINESS_DAY_DESCRIPTION)
          .max(MAX_BUSINESS_DAYS, BUSINESS_DAY_DESCRIPTION)
          .refine((n) => n !== 0, BUSINESS_DAY_DESCRIPTION)
          .describe('3 is the third business day of the month, -1 the last. A month that has fewer is left out.'),
      })
      .optional()
      .describe(
        "Only on this day of the organization's calendar; the cron says the time of day, and the months if not all.",
      ),
    shift: z
      .enum(SHIFTS)
      .optional()
      .describe(
        "A slot on a day off of the organization's calendar moves to the same time on the next or previous business day.",
      ),
    jitter: durationSchema('seconds, or a number with its unit such as 30s or 10m; at most 1h', 0, HOUR_S)
      .optional()
      .describe(
        'Delays each run by at most this time, by a fixed offset for each report, so that many reports do not start at once. Slot and period stay the same.',
      ),
    prepare: durationSchema('seconds, or a number with its unit such as 30m or 2h; from 1m to 24h', MINUTE_S, DAY_S)
      .optional()
      .describe(
        'Makes the calls of a slot up to this time before it, as soon as their days are complete (`data_ready` in org.yaml). The run itself begins at its slot. Shorter than the time between two slots.',
      ),
    late_after: durationSchema('seconds, or a number with its unit such as 30m or 2h; from 1m to 24h', MINUTE_S, DAY_S)
      .optional()
      .describe(
        'Readers expect the report at most this long after its slot. Runs that are expected earlier are served first, and a run that has not ended by then is late: its owner is notified. Default: never late, and served as if it were 24h.',
      ),
    catch_up: z
      .enum(CATCH_UP)
      .default('latest')
      .describe(
        'Which missed slots are opened when the scheduler runs again: none, the latest one, or all within catch_up_window.',
      ),
    catch_up_window: durationSchema(
      'seconds, or a number with its unit such as 12h or 3d; from 10m to 31d',
      HOUR_S / 6,
      MAX_CATCH_UP_WINDOW_S,
    )
      .prefault('3d')
      .describe('How long after its time a missed slot is still opened; 3d by default, at most 31d.'),
  })
  .superRefine(({ cron, start, end, on, shift, prepare }, context) => {
    if (prepare !== undefined && cronError(cron) === undefined && hasTimesWithin(cron, prepare * 1000)) {
      const message = 'less than the time between two slots: a slot is prepared after the one before it';
      const params = { next: 'shorten "prepare"' };
      context.addIssue({ code: 'custom', path: ['prepare'], message, params });
    }
    if (start !== undefined && end !== undefined && end < start) {
      context.addIssue({ code: 'custom', path: ['end'], message: `a day not before "start" (${start})` });
    }
    if (on === undefined) return;
    if (shift !== undefined) {
      const params = { next: 'remove "shift"' };
      const message = 'no "shift" beside "on", whose day is a business day already';
      context.addIssue({ code: 'custom', path: ['shift'], message, params });
    }
    if (!runsOnAnyDay(cron)) {
      const params = { next: 'write * for both, e.g. "0 8 * * *"' };
      const message = 'a cron whose days of month and of week are "*": the day is what "on" says';
      context.addIssue({ code: 'custom', path: ['cron'], message, params });
    }
  });
export type Schedule = z.infer<typeof scheduleSchema>;

/** More schedules should be one cron expression. */
const MAX_SCHEDULES = 10;

/** One schedule or a list of them. It is parsed to a list, which is valid input as well. */
export const schedulesSchema = z
  .union([scheduleSchema, z.array(scheduleSchema).max(MAX_SCHEDULES)], {
    error: `a schedule, e.g. { cron: "0 8 * * MON" }, or a list of up to ${MAX_SCHEDULES}`,
  })
  .transform((written) => (Array.isArray(written) ? written : [written]))
  .default([])
  .describe('When the report runs by itself: one schedule, or a list of up to 10. Default: on demand only.');
