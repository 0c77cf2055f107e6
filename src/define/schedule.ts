import { z } from 'zod';

export const CATCH_UP = ['skip', 'latest', 'all'] as const;

/** When a report runs. Cron has five fields or an `@` form; the zone is the organization's unless it is named here. */
export const scheduleSchema = z.strictObject({
  cron: z.string().min(1).describe('Five fields, or @hourly, @daily, @weekly, @monthly, @yearly.'),
  timezone: z.string().optional().describe("IANA zone; defaults to the organization's."),
  catch_up: z
    .enum(CATCH_UP)
    .default('latest')
    .describe(
      'Which slots to open that were missed while nothing ran: none, the latest one, or all (at most 3 days back).',
    ),
});
export type Schedule = z.infer<typeof scheduleSchema>;
