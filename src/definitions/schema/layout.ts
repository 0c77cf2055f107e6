import { z } from 'zod';
import { lineSchema } from './primitives.ts';

export const LAYOUTS = ['table', 'scorecard', 'trend', 'exceptions', 'text'] as const;
/** How a section is laid out in the workbook, the PDF and the e-mail. */
export type Layout = (typeof LAYOUTS)[number];

/** Points of a scorecard's small charts, and rows of exceptions. */
export const MAX_TREND = 36;
export const MAX_TOP = 100;
export const DEFAULT_TOP = 20;

/** The fields of a section that say how it is laid out. */
export const layoutFields = {
  layout: z
    .enum(LAYOUTS)
    .optional()
    .describe(
      'table: rows and columns, the default; scorecard: a row for each metric; trend: a small chart for each metric; exceptions: the breached or worst rows only; text: the headlines and the description, without figures of its own.',
    ),
  groups: z
    .array(z.strictObject({ title: lineSchema(80), metrics: z.array(lineSchema(200)).min(1) }))
    .min(1)
    .optional()
    .describe(
      'Of a scorecard: its metrics under subheadings. Metrics that are only in `metrics` come first, without one.',
    ),
  trend: z
    .int()
    .min(2)
    .max(MAX_TREND)
    .optional()
    .describe(
      "Of a scorecard: the last figures of each metric as a small chart, this many days, weeks or months, whichever the report's period is made of; its own is the last.",
    ),
  top: z
    .int()
    .min(1)
    .max(MAX_TOP)
    .optional()
    .describe(`Of exceptions: rows shown at most; ${DEFAULT_TOP} when absent. All rows are in the CSV file.`),
  print: z.boolean().optional().describe('false keeps the section in the workbook and leaves it out of print and PDF.'),
} as const;
