import { z } from 'zod';
import { civilDateSchema } from './catalog.ts';
import { LIMITS } from './limits.ts';

export const GRANULARITIES = ['day', 'week', 'month'] as const;
export type Granularity = (typeof GRANULARITIES)[number];

export const FILTER_OPS = ['eq', 'in', 'not_in'] as const;

export const filterSchema = z.strictObject({
  dimension: z.string(),
  op: z.enum(FILTER_OPS),
  values: z.array(z.string()).min(1).max(LIMITS.max_filter_values),
});
export type Filter = z.infer<typeof filterSchema>;

export const orderSchema = z.strictObject({ by: z.string(), dir: z.enum(['asc', 'desc']).default('asc') });
export type Order = z.infer<typeof orderSchema>;

export const timeSchema = z.strictObject({
  /** First and last day, both included, read in `timezone`. Both or neither. */
  from: civilDateSchema.optional(),
  to: civilDateSchema.optional(),
  /** Omitted: the whole range folds into one row per group; the only way to read a current count. */
  granularity: z.enum(GRANULARITIES).optional(),
  /** IANA name; UTC when omitted. */
  timezone: z.string().optional(),
  compare: z.literal('previous_period').optional(),
});

/** The body of `POST …/analytics/report/` (specification §2.7). */
export const reportRequestSchema = z.strictObject({
  metrics: z.array(z.string()).min(1).max(LIMITS.max_metrics),
  dimensions: z.array(z.string()).max(LIMITS.max_dimensions).optional(),
  filters: z.array(filterSchema).optional(),
  time: timeSchema.optional(),
  order: z.array(orderSchema).optional(),
  limit: z.int().min(1).max(LIMITS.max_rows).optional(),
  include: z.array(z.literal('totals')).optional(),
});
export type ReportRequest = z.infer<typeof reportRequestSchema>;

const rangeSchema = z.looseObject({ from: civilDateSchema, to: civilDateSchema });

/** Specification §2.8 names four of the fields twice; the second spelling is read where the first says nothing. */
const SECOND_SPELLINGS = {
  rows_count: 'row_count',
  is_truncated: 'truncated',
  computed_at: 'as_of',
  is_cached: 'cached',
} as const;

const withFirstSpellings = (meta: unknown): unknown => {
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta)) return meta;
  const read: Record<string, unknown> = { ...meta };
  for (const [second, first] of Object.entries(SECOND_SPELLINGS)) {
    if (read[first] == null && second in read) read[first] = read[second];
  }
  // Should the two disagree, rows are more likely cut than not: a cut must not go unseen.
  if (read.is_truncated === true) read.truncated = true;
  return read;
};

const ZONED = /(Z|[+-]\d{2}:?\d{2})$/;

/**
 * A timestamp as an instant that reads alike everywhere: one without a zone is UTC, as all of the service's are
 * (specification §2.1). Null for what is no instant: a report does not fail for it, but says so.
 */
const instantSchema = z.unknown().transform((said, context): string | null => {
  if (said === undefined) {
    context.addIssue({ code: 'custom', message: 'expected a timestamp, received nothing' });
    return z.NEVER;
  }
  const text = typeof said === 'string' ? said.trim().replace(' ', 'T').toUpperCase() : '';
  const instant = ZONED.test(text) ? text : `${text}Z`;
  return /^\d{4}-\d{2}-\d{2}T/.test(text) && !Number.isNaN(Date.parse(instant)) ? instant : null;
});

export const reportMetaSchema = z.preprocess(
  withFirstSpellings,
  z.looseObject({
    /** When the figures were computed: an instant; null where it cannot be read. */
    as_of: instantSchema,
    cached: z.boolean(),
    /** Its type is not shown: seconds in the sandbox. Docket keeps it and does not rely on it. */
    refresh_retry_after: z.unknown().optional(),
    timezone: z.string(),
    /** Null: the service does not say, as it may of a current count, which has no range. */
    range: rangeSchema.nullish(),
    compare_range: rangeSchema.nullish(),
    granularity: z.string().nullish(),
    row_count: z.int(),
    truncated: z.boolean(),
    registry_version: z.int(),
  }),
);

/** Describes one key of a row. `unit` is null for what is not a metric. */
export const columnSchema = z.looseObject({
  name: z.string(),
  label: z.string(),
  kind: z.string(),
  type: z.string(),
  unit: z.string().nullish(),
});

/** Keyed by metric id, perhaps with more: only who knows what was asked can tell which values must be figures. */
const figuresSchema = z.looseObject({});

/**
 * Its values by column are unknown here, because a row may carry more than was asked for. A figure is 0 when nothing
 * happened and null when it is undefined: a rate or a median over nothing (specification §2.8, rule 2).
 */
export const rowSchema = z.looseObject({
  bucket: civilDateSchema.nullish(),
  compare: figuresSchema.nullish(),
  partial: z.boolean().nullish(),
});
export type ReportRow = z.infer<typeof rowSchema>;

export const totalsSchema = z.looseObject({ compare: figuresSchema.nullish() });

/** The answer of `POST …/analytics/report/` (specification §2.8). Unknown fields are kept. */
export const reportResponseSchema = z.looseObject({
  meta: reportMetaSchema,
  columns: z.array(columnSchema),
  rows: z.array(rowSchema),
  totals: totalsSchema.nullish(),
});
export type ReportResponse = z.infer<typeof reportResponseSchema>;
