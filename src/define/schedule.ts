import { z } from 'zod';
import { cronFault } from './cron.ts';
import { zoneSchema } from './zone.ts';

export const CATCH_UP = ['skip', 'latest', 'all'] as const;

const cronSchema = z.string().superRefine((cron, context) => {
  const message = cronFault(cron);
  if (message === undefined) return;
  context.addIssue({ code: 'custom', message, params: { next: 'correct it, e.g. "0 8 * * MON" for Mondays at 8:00' } });
});

/** When a report runs. Cron has five fields or an `@` form; the zone is the organization's unless it is named here. */
export const scheduleSchema = z.strictObject({
  cron: cronSchema.describe(
    'Minute, hour, day of month, month, day of week; or @hourly, @daily, @weekly, @monthly, @yearly. A time that a change of summer time skips runs once right after it; one that occurs twice runs once.',
  ),
  timezone: zoneSchema.optional().describe("IANA zone; defaults to the organization's."),
  catch_up: z
    .enum(CATCH_UP)
    .default('latest')
    .describe(
      'Which slots to open that were missed while nothing ran: none, the latest one, or all (at most 3 days back).',
    ),
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
