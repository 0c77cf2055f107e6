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
