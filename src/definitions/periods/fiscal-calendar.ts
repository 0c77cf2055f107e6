import { z } from 'zod';
import { WEEKDAYS } from '../schedules/civil-day.ts';

/** Not every month has later days, and a quarter begins on the same day of the month as its year. */
const MAX_START_DAY = 28;

/** Start of an organization's fiscal year. */
export const fiscalYearSchema = z
  .strictObject({
    month: z.int().min(1).max(12).describe('1 is January.'),
    day: z.int().min(1).max(MAX_START_DAY).default(1).describe('1 to 28.'),
    named_by: z
      .enum(['end', 'start'])
      .default('end')
      .describe('The calendar year that names it: FY2026 is the one that ends in 2026, or with "start" begins in it.'),
  })
  .describe('When the fiscal year begins: quarters and years of periods are its own. Default: the calendar year.');

export const weekStartSchema = z
  .enum(WEEKDAYS)
  .describe(
    'The first day of the weeks of periods; MON by default. With another, no section can have granularity: week, since the weeks of the service begin on Monday.',
  );

/** Defines the weeks, quarters and years of an organization. */
export interface FiscalCalendar {
  readonly fiscal_year_start?: z.infer<typeof fiscalYearSchema> | undefined;
  readonly week_start?: z.infer<typeof weekStartSchema> | undefined;
}
