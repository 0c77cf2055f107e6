import { z } from 'zod';

/** A civil date, YYYY-MM-DD. It has no time zone, which is always given beside it. */
export const civilDateSchema = z.iso.date();

/** A description; empty if the service has none. */
const optionalTextSchema = z
  .string()
  .nullish()
  .transform((words) => words ?? '');

/** Gives a descriptor with an invisible label its id as label. */
const named = <Named extends { readonly label: string }>(described: Named, id: string): Named =>
  /[\p{L}\p{N}\p{P}\p{S}]/u.test(described.label) ? described : { ...described, label: id };

/**
 * A metric of the organization (specification §2.4). `type`, `unit`, `aggregation`, `time_field` and `granularities`
 * are open strings: a value from a newer service is shown by its name and must not fail a run. Unknown fields are kept.
 */
const metricSchema = z.looseObject({
  id: z.string(),
  label: z.string(),
  description: optionalTextSchema,
  type: z.string(),
  /** `count`, `ratio` (0 to 1) or `seconds`. */
  unit: z.string().nullable(),
  aggregation: optionalTextSchema,
  /** When a row counts: `created`, `first decision`, `closed`, or `now` for a current count. */
  time_field: z.string(),
  /** Empty for a current count. */
  granularities: z.array(z.string()),
  /** Ids of the dimensions by which it can be grouped and filtered. */
  dimensions: z.array(z.string()),
  /** False for rates, percentiles and distinct counts: values of several buckets must not be summed. */
  additive_over_time: z.boolean(),
  /** The first day with data. Earlier buckets have the value zero. Null: unknown. */
  data_available: z.looseObject({ from: civilDateSchema.nullish() }).nullish(),
  deprecated_at: z.string().nullish(),
  replaced_by: z.string().nullish(),
});
export type Metric = z.infer<typeof metricSchema>;

/** The units in specification §2.4. Other units come from a newer service and are shown by name. */
export const KNOWN_UNITS: ReadonlySet<string> = new Set(['count', 'ratio', 'seconds']);

/** Removes repeated values: one would be requested in two calls and counted twice. */
function withoutRepeatedValues<Listed extends { readonly value: string }>(values: readonly Listed[]): Listed[] {
  const seen = new Set<string>();
  return values.filter(({ value }) => !seen.has(value) && seen.add(value));
}

const dimensionSchema = z.looseObject({
  id: z.string(),
  label: z.string(),
  description: optionalTextSchema,
  type: z.string(),
  /**
   * The organization's values at the time of the catalog, in display order. Responses may have others, because the
   * catalog is cached for an hour. Rows without a value have null.
   */
  values: z
    .array(z.looseObject({ value: z.string(), label: z.string() }))
    .transform((values) => withoutRepeatedValues(values).map((each) => named(each, each.value))),
});
export type Dimension = z.infer<typeof dimensionSchema>;

/** A metric or dimension with an invalid descriptor. */
const unreadableSchema = z.object({ id: z.string(), why: z.string() });
export type UnreadableDescriptor = z.infer<typeof unreadableSchema>;

/**
 * Returns the valid descriptors, and for each invalid one its id and first error. If two have the same id, the first is
 * used.
 */
function parseDescriptors<Schema extends z.ZodType<{ readonly id: string }>>(
  schema: Schema,
  listed: readonly unknown[],
  name: string,
) {
  const read: z.output<Schema>[] = [];
  const unread: UnreadableDescriptor[] = [];
  const ids = new Set<string>();
  listed.forEach((descriptor, index) => {
    const parsed = schema.safeParse(descriptor);
    if (parsed.success) {
      if (ids.has(parsed.data.id)) unread.push({ id: parsed.data.id, why: 'listed more than once' });
      else read.push(parsed.data);
      ids.add(parsed.data.id);
      return;
    }
    const id = z.looseObject({ id: z.string() }).safeParse(descriptor).data?.id ?? `${name}[${index}]`;
    const [issue] = parsed.error.issues;
    unread.push({ id, why: `${issue?.path.join('.') || name}: ${issue?.message ?? 'odd'}` });
  });
  return { read, unread };
}

/**
 * The metric catalog of one organization (specification §2.4), which decides what can be requested. Invalid descriptors
 * are left out and listed in `unread`, so that a single one does not stop every report.
 */
export const catalogSchema = z
  .looseObject({
    registry_version: z.int(),
    metrics: z.array(z.unknown()),
    dimensions: z.array(z.unknown()),
    limits: z.looseObject({
      max_range_days: z.int().positive(),
      max_dimensions: z.int().positive(),
      max_rows: z.int().positive(),
    }),
    /** Not from the service: it is present when a stored catalog is parsed again. */
    unread: z.array(unreadableSchema).optional().catch(undefined),
  })
  .transform(({ unread = [], ...catalog }) => {
    const metrics = parseDescriptors(metricSchema, catalog.metrics, 'metrics');
    const dimensions = parseDescriptors(dimensionSchema, catalog.dimensions, 'dimensions');
    const left = [...unread, ...metrics.unread, ...dimensions.unread];
    return {
      ...catalog,
      metrics: metrics.read.map((metric) => named(metric, metric.id)),
      dimensions: dimensions.read.map((dimension) => named(dimension, dimension.id)),
      ...(left.length === 0 ? {} : { unread: left }),
    };
  });
export type Catalog = z.infer<typeof catalogSchema>;

/**
 * Whether a metric is a current count, i.e. the present state: it has no granularity, and the period does not apply
 * (specification §2.4).
 */
export const isCurrentCount = (metric: Pick<Metric, 'time_field'>): boolean => metric.time_field === 'now';

/**
 * Metrics whose figures for past periods still change, with the reason: all of them count by arrival, and measure what
 * has happened since. For `cohort.*`, specification §2.6 says so; for the others it follows from their meaning.
 */
const PROVISIONAL_METRICS: ReadonlyMap<string, string> = new Map([
  ['cohort.completion_rate', 'decided so far, of the profiles received in a bucket'],
  ['cohort.turnaround_p50', 'time to decision of those decided so far, by arrival'],
  ['cohort.turnaround_p90', 'time to decision of those decided so far, by arrival'],
  ['rfis.response_rate', 'answered so far, of the requests sent in a bucket'],
  ['intake.completion_rate', 'submitted so far, of the invitations sent in a bucket'],
  ['blockchain_addresses.by_risk', 'addresses added in a bucket, by the rating that they have had since'],
  ['blockchain_addresses.time_to_first_screening_p50', 'of the addresses added in a bucket, those screened so far'],
]);

/** Whether a metric's figures for past periods still change. Those of every cohort do. */
export const isProvisional = ({ id }: Pick<Metric, 'id'>): boolean =>
  id.startsWith('cohort.') || PROVISIONAL_METRICS.has(id);

/** A metric's value if nothing happened (specification §2.8, rule 2); undefined for an unknown unit. */
export function getZeroValue(id: string, { metrics }: Pick<Catalog, 'metrics'>): number | null | undefined {
  const unit = metrics.find((metric) => metric.id === id)?.unit;
  return unit === 'count' ? 0 : unit === 'ratio' || unit === 'seconds' ? null : undefined;
}

/** Aggregations that are never additive, whatever the catalog says: percentiles and distinct counts. */
const NON_ADDITIVE_AGGREGATION = /^p\d+$|distinct/i;

/**
 * Whether the metric can be a sum at all (specification §2.4): it is a count, but neither a percentile nor distinct.
 */
export const isSum = ({ unit, aggregation }: Pick<Metric, 'unit' | 'aggregation'>): boolean =>
  unit === 'count' && !NON_ADDITIVE_AGGREGATION.test(aggregation);

/**
 * Whether values of groups may be summed. Those of plain counts and current counts may, whether or not the catalog
 * calls them additive over time. Any other count that is not additive over time counts distinct things.
 */
export const isAddableOverGroups = (metric: Additivity & Pick<Metric, 'time_field'>): boolean =>
  isSum(metric) && (metric.additive_over_time || isCurrentCount(metric));

type Additivity = Pick<Metric, 'additive_over_time' | 'unit' | 'aggregation'>;

/** Whether values of the metric may be summed. The catalog's flag is trusted only for counts. */
export const isAdditive = (metric: Additivity): boolean => metric.additive_over_time && isSum(metric);

/**
 * Whether the catalog marks a rate, a duration, a percentile or a distinct count as additive, which is wrong
 * (specification §2.4). False for unknown units.
 */
export const isWronglyAdditive = (metric: Additivity): boolean =>
  metric.additive_over_time && !isSum(metric) && metric.unit !== null && KNOWN_UNITS.has(metric.unit);

/** All dimension ids of specification §2.5. */
export const DIMENSION_IDS = [
  'profile.type',
  'profile.group',
  'profile.review_status',
  'profile.relationship_status',
  'profile.risk',
  'profile.creation_source',
  'review.age',
  'alert.type',
  'alert.status',
  'hit.kind',
  'hit.resolution',
] as const;

/**
 * Dimensions for which every row has a value, and only values from the specification (§2.2, §2.5, §3). For others a row
 * may have no value, e.g. a profile without a group.
 */
export const DIMENSIONS_WITH_FIXED_VALUES: ReadonlySet<string> = new Set([
  'profile.type',
  'profile.review_status',
  'review.age',
]);

/** Review statuses by code, with their labels (specification §3). */
export const REVIEW_STATUSES = {
  PR: 'Pending Review',
  UR: 'Under Review',
  RS: 'RFI Sent',
  RR: 'RFI Responded',
  ES: 'Escalated',
  AP: 'Approved',
  DE: 'Declined',
  AR: 'Archived',
} as const;
