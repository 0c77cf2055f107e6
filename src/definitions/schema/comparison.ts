import { z } from 'zod';

/** What a figure is compared with. */
export const COMPARISON_KINDS = ['previous_period', 'previous_year'] as const;
export type ComparisonKind = (typeof COMPARISON_KINDS)[number];

const kindSchema = z.enum(COMPARISON_KINDS, { error: COMPARISON_KINDS.join(' or ') });

/** `compare` of a report or a section: one comparison, or a list of several without duplicates. */
export const compareSchema = z
  .union([kindSchema.transform((kind) => [kind]), z.array(kindSchema).min(1).max(COMPARISON_KINDS.length)], {
    error: `${COMPARISON_KINDS.join(' or ')}, or a list of them`,
  })
  .transform((kinds): readonly ComparisonKind[] => [...new Set(kinds)])
  .describe(
    'Adds the figures of other days: previous_period (the days just before), previous_year (the same months or ISO weeks a year before, else the same weekdays 364 days before), or a list of them.',
  );

/** Ranges from the start of a year or quarter to the last day of the period. */
export const TO_DATE = ['year', 'fiscal_year', 'quarter'] as const;
export type ToDate = (typeof TO_DATE)[number];

export const toDateSchema = z
  .enum(TO_DATE, { error: TO_DATE.join(', ') })
  .describe(
    'Adds the figure from the start of the year, fiscal year or quarter to the last day of the period. Current counts have none.',
  );
