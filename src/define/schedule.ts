import { z } from 'zod';
import { cronFault, leavesDaysOpen } from './cron.ts';
import { durationSchema } from './duration.ts';
import { zoneSchema } from './zone.ts';

export const CATCH_UP = ['skip', 'latest', 'all'] as const;
const SHIFTS = ['next_business_day', 'previous_business_day'] as const;

const HOUR = 3600;
const DAY = 24 * HOUR;
/** The longest `catch_up_window`, seconds. */
export const MOST_WINDOW = 31 * DAY;
/** No month has more business days. */
const MOST_BUSINESS_DAYS = 31;

const cronSchema = z.string().superRefine((cron, context) => {
  const message = cronFault(cron);
  if (message === undefined) return;
  context.addIssue({ code: 'custom', message, params: { next: 'correct it, e.g. "0 8 * * MON" for Mondays at 8:00' } });
});

const BUSINESS_DAY = `a business day of the month: 1 is the first, -1 the last, up to ${MOST_BUSINESS_DAYS}`;

/** When a report runs. Cron has five fields or an `@` form; the zone is the organization's unless it is named here. */
export const scheduleSchema = z
  .strictObject({
    cron: cronSchema.describe(
      'Minute, hour, day of month, month, day of week; or @hourly, @daily, @weekly, @monthly, @yearly. A time that a change of summer time skips runs once right after it; one that occurs twice runs once; "every hour" stays every hour.',
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
          .int(BUSINESS_DAY)
          .min(-MOST_BUSINESS_DAYS, BUSINESS_DAY)
          .max(MOST_BUSINESS_DAYS, BUSINESS_DAY)
          .refine((n) => n !== 0, BUSINESS_DAY)
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
    jitter: durationSchema('seconds, or a number with its unit such as 30s or 10m; at most 1h', 0, HOUR)
      .optional()
      .describe(
        'Runs begin up to so long after their slot, each at its own fixed offset, so that many reports do not begin at once. The slot, and with it the period, stays.',
      ),
    catch_up: z
      .enum(CATCH_UP)
      .default('latest')
      .describe(
        'Which slots to open that were missed while nothing ran: none, the latest one, or all of the catch_up_window.',
      ),
    catch_up_window: durationSchema(
      'seconds, or a number with its unit such as 12h or 3d; from 10m to 31d',
      HOUR / 6,
      MOST_WINDOW,
    )
      .prefault('3d')
      .describe('How long after its time a missed slot is still opened; 3d by default, at most 31d.'),
  })
  .superRefine(({ cron, start, end, on, shift }, context) => {
    if (start !== undefined && end !== undefined && end < start) {
      context.addIssue({ code: 'custom', path: ['end'], message: `a day not before "start" (${start})` });
    }
    if (on === undefined) return;
    if (shift !== undefined) {
      const params = { next: 'remove "shift"' };
      const message = 'no "shift" beside "on", whose day is a business day already';
      context.addIssue({ code: 'custom', path: ['shift'], message, params });
    }
    if (!leavesDaysOpen(cron)) {
      const params = { next: 'write * for both, e.g. "0 8 * * *"' };
      const message = 'a cron whose days of month and of week are "*": the day is what "on" says';
      context.addIssue({ code: 'custom', path: ['cron'], message, params });
    }
  });
export type Schedule = z.infer<typeof scheduleSchema>;

/** More than this is a cron that somebody did not find. */
const MOST_SCHEDULES = 10;

/** One schedule or a list of them; read as a list, which may be written back as it is. */
export const schedulesSchema = z
  .union([scheduleSchema, z.array(scheduleSchema).max(MOST_SCHEDULES)], {
    error: `a schedule, e.g. { cron: "0 8 * * MON" }, or a list of up to ${MOST_SCHEDULES}`,
  })
  .transform((written) => (Array.isArray(written) ? written : [written]))
  .default([])
  .describe('When the report runs by itself: one schedule, or a list of up to 10. Absent: on demand only.');
