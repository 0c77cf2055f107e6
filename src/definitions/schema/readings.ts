import { z } from 'zod';

/** The latest time of a reading, so that its hour ends within the day. */
const LATEST_READING = '23:00';
const DEFAULT_READING_TIME = '22:30';
/** The most metrics of one call (specification §8). */
const MAX_METRICS = 20;
/** Few, because each is a call per day. */
const MAX_DIMENSIONS = 10;

const TIME_PATTERN = /^([01]\d|2[0-3]):[0-5]\d$/;

/** Ids are parts of file names in the archive. */
const idSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/, 'an id as the catalog has it, e.g. alerts.open');

const distinct = (ids: readonly string[], context: z.RefinementCtx): void => {
  for (const [index, id] of ids.entries()) {
    if (ids.indexOf(id) === index) continue;
    context.addIssue({
      code: 'custom',
      path: [index],
      message: `each id once, but "${id}" is there twice`,
      params: { next: 'remove one of them' },
    });
  }
};

const timeSchema = z
  .string({ error: `a local time in quotes, e.g. "${DEFAULT_READING_TIME}"` })
  .regex(TIME_PATTERN, `a local time, e.g. "${DEFAULT_READING_TIME}"`)
  .refine((time) => !TIME_PATTERN.test(time) || time <= LATEST_READING, {
    error: `at most "${LATEST_READING}": a reading may be taken until an hour later, on the same day`,
    params: { next: `use "${LATEST_READING}" or an earlier time` },
  });

/** `readings` in org.yaml: current counts that are read every day, because the service has no history of them. */
export const readingsSchema = z
  .strictObject({
    at: timeSchema
      .default(DEFAULT_READING_TIME)
      .describe('Local time of the reading, every day, e.g. "22:30" (default); at most "23:00".'),
    metrics: z
      .array(idSchema)
      .min(1, 'at least one metric')
      .max(MAX_METRICS, `at most ${MAX_METRICS} metrics, as in one call`)
      .superRefine(distinct)
      .describe('Current counts, e.g. alerts.open.'),
    by: z
      .array(idSchema)
      .max(MAX_DIMENSIONS, `at most ${MAX_DIMENSIONS} dimensions: each is a call a day`)
      .superRefine(distinct)
      .default([])
      .describe('Dimensions, e.g. profile.risk: one call for each, besides the one for the whole.'),
  })
  .describe('Reads current counts every day and stores them in the archive, so that reports may show past days.');
export type ReadingSettings = z.infer<typeof readingsSchema>;
