import { z } from 'zod';
import { startsWithRealDay } from '../base/time.ts';
import { civilDateSchema } from './catalog.ts';
import { LIMITS } from './limits.ts';

export const GRANULARITIES = ['day', 'week', 'month'] as const;
export type Granularity = (typeof GRANULARITIES)[number];

export const FILTER_OPS = ['eq', 'in', 'not_in'] as const;

const filterSchema = z.strictObject({
  dimension: z.string(),
  op: z.enum(FILTER_OPS),
  values: z.array(z.string()).min(1).max(LIMITS.max_filter_values),
});
export type Filter = z.infer<typeof filterSchema>;

const orderSchema = z.strictObject({ by: z.string(), dir: z.enum(['asc', 'desc']).default('asc') });
export type Order = z.infer<typeof orderSchema>;

const timeSchema = z.strictObject({
  /** First and last day, both included, in `timezone`. Either both or neither are set. */
  from: civilDateSchema.optional(),
  to: civilDateSchema.optional(),
  /** Omitted: one row per group for the whole range. Must be omitted for current counts. */
  granularity: z.enum(GRANULARITIES).optional(),
  /** IANA name. Default: UTC. */
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

/** For four of the fields, specification §2.8 has two names. The second is read if the first is missing. */
const FIELD_ALIASES = {
  rows_count: 'row_count',
  is_truncated: 'truncated',
  computed_at: 'as_of',
  is_cached: 'cached',
} as const;

const resolveAliases = (meta: unknown): unknown => {
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta)) return meta;
  const read: Record<string, unknown> = { ...meta };
  for (const [second, first] of Object.entries(FIELD_ALIASES)) {
    if (read[first] == null && second in read) read[first] = read[second];
  }
  // If the two names have different values, the response counts as truncated.
  if (read.is_truncated === true) read.truncated = true;
  return read;
};

const ZONE_SUFFIX = /(Z|[+-]\d{2}:?\d{2})$/;

/**
 * A timestamp with its time zone. Without one it is UTC, like all timestamps of the service (specification §2.1). Null
 * for an invalid timestamp: the report does not fail, but gets a note.
 */
const instantSchema = z.unknown().transform((said, context): string | null => {
  if (said === undefined) {
    context.addIssue({ code: 'custom', message: 'expected a timestamp, received nothing' });
    return z.NEVER;
  }
  const text = typeof said === 'string' ? said.trim().replace(' ', 'T').toUpperCase() : '';
  const instant = ZONE_SUFFIX.test(text) ? text : `${text}Z`;
  return /^\d{4}-\d{2}-\d{2}T/.test(text) && startsWithRealDay(text) && !Number.isNaN(Date.parse(instant))
    ? instant
    : null;
});

const reportMetaSchema = z.preprocess(
  resolveAliases,
  z.looseObject({
    /** When the values were computed; null if unreadable. */
    as_of: instantSchema,
    cached: z.boolean(),
    /** Its type is not specified; in the sandbox it is in seconds. Docket does not use it. */
    refresh_retry_after: z.unknown().optional(),
    timezone: z.string(),
    /** Null if the service reports none, e.g. for current counts. */
    range: rangeSchema.nullish(),
    compare_range: rangeSchema.nullish(),
    granularity: z.string().nullish(),
    row_count: z.int(),
    truncated: z.boolean(),
    registry_version: z.int(),
  }),
);

/** Describes a column. `unit` is null except for metrics. */
const columnSchema = z.looseObject({
  name: z.string(),
  label: z.string(),
  kind: z.string(),
  type: z.string(),
  unit: z.string().nullish(),
});

/** By metric id, possibly with other keys. Only the request decides which values must be numbers. */
const figuresSchema = z.looseObject({});

/**
 * The types of values are unknown here, because a row may have more columns than requested. A value is 0 if nothing
 * happened and null if it is undefined: a rate or a median of nothing (specification §2.8, rule 2).
 */
const rowSchema = z.looseObject({
  bucket: civilDateSchema.nullish(),
  compare: figuresSchema.nullish(),
  partial: z.boolean().nullish(),
});
export type ReportRow = z.infer<typeof rowSchema>;

const totalsSchema = z.looseObject({ compare: figuresSchema.nullish() });

/** The response of `POST …/analytics/report/` (specification §2.8). Unknown fields are kept. */
export const reportResponseSchema = z.looseObject({
  meta: reportMetaSchema,
  columns: z.array(columnSchema),
  rows: z.array(rowSchema),
  totals: totalsSchema.nullish(),
});
export type ReportResponse = z.infer<typeof reportResponseSchema>;
