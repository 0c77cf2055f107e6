import { z } from 'zod';
import { type Catalog, isCurrentCount } from '../contract/catalog.ts';
import type { ReportRequest } from '../contract/report.ts';
import type { ReadingSettings } from '../definitions/schema/readings.ts';
import type { Section } from '../definitions/schema/report-definition.ts';

/** What one call of a reading requests: current counts, as a whole or by one dimension. */
export interface ReadingQuestion {
  /** `whole` or `by-<dimension>`: the name in the archive. It does not depend on the metrics. */
  readonly id: string;
  readonly metrics: readonly string[];
  readonly dimension: string | null;
}

/** The name of the request for the whole (null) or by a dimension. */
export const questionId = (dimension: string | null): string => (dimension === null ? 'whole' : `by-${dimension}`);

/**
 * The requests of a day: one for the whole, and one for each dimension with the metrics that accept it.
 *
 * @param catalog absent: every metric counts as a current count that accepts every dimension
 */
export function readingQuestions({ metrics, by }: ReadingSettings, catalog: Catalog | undefined): ReadingQuestion[] {
  const accepts = (id: string, dimension: string | null): boolean => {
    if (catalog === undefined) return true;
    const metric = catalog.metrics.find((candidate) => candidate.id === id);
    if (metric === undefined || !isCurrentCount(metric)) return false;
    return dimension === null || metric.dimensions.includes(dimension);
  };
  return [null, ...by].flatMap((dimension) => {
    const accepted = metrics.filter((id) => accepts(id, dimension));
    return accepted.length === 0 ? [] : [{ id: questionId(dimension), metrics: accepted, dimension }];
  });
}

/** The request body. It has no range, because current counts have none. */
export const readingRequest = ({ metrics, dimension }: ReadingQuestion, timezone: string): ReportRequest => ({
  metrics: [...metrics],
  ...(dimension === null ? {} : { dimensions: [dimension] }),
  time: { timezone },
});

const dateSchema = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);
const instantSchema = z.string().refine((text) => !Number.isNaN(Date.parse(text)));

/** A stored reading. Counts are as the service computed them; null is undefined. */
export const readingSchema = z.object({
  version: z.literal(1),
  org: z.string(),
  /** The `org` in org.yaml at that time. Counts of another organization are not used. */
  service_org: z.string(),
  day: dateSchema,
  timezone: z.string(),
  question: z.string(),
  metrics: z.array(z.string()),
  dimension: z.string().nullable(),
  /** When the service computed the counts. */
  as_of: instantSchema,
  /** When Docket received them, by its own clock. */
  received_at: instantSchema,
  registry_version: z.int(),
  correlation_id: z.string().nullable(),
  rows: z.array(z.object({ group: z.string().nullable(), values: z.record(z.string(), z.number().nullable()) })),
});
export type Reading = Readonly<z.infer<typeof readingSchema>>;

/** Finds the readings of one request, by day. Absent days are gaps. */
export type FindReadings = (
  org: string,
  dimension: string | null,
  days: readonly string[],
) => Promise<ReadonlyMap<string, Reading>>;

/** Why no reading can answer a section of current counts. */
export type ReadingGap =
  | { readonly kind: 'metrics'; readonly metrics: readonly string[] }
  | { readonly kind: 'dimension'; readonly dimension: string }
  | { readonly kind: 'dimensions' }
  | { readonly kind: 'filters' };

/**
 * What the organization's readings lack for a section; undefined if they answer it. Readings have no filters and at most
 * one dimension, so they only answer sections without filters whose metrics and dimension are read.
 */
export function readingGap(
  { metrics = [], dimensions = [], filters = [] }: Section,
  settings: ReadingSettings | undefined,
): ReadingGap | undefined {
  if (filters.length > 0) return { kind: 'filters' };
  if (dimensions.length > 1) return { kind: 'dimensions' };
  const missing = metrics.filter((id) => !settings?.metrics.includes(id));
  if (missing.length > 0) return { kind: 'metrics', metrics: missing };
  const [dimension] = dimensions;
  return dimension === undefined || settings?.by.includes(dimension) ? undefined : { kind: 'dimension', dimension };
}

/** Says what to change so that a section has a history of its current counts. */
export function readingAdvice(gap: ReadingGap): string {
  switch (gap.kind) {
    case 'metrics':
      return `Add ${gap.metrics.map((id) => `"${id}"`).join(', ')} to "readings: metrics" of org.yaml: Docket then reads them every day.`;
    case 'dimension':
      return `Add "${gap.dimension}" to "readings: by" of org.yaml: Docket then reads the counts by it every day.`;
    case 'dimensions':
      return 'Use one dimension: readings have at most one.';
    case 'filters':
      return 'Remove the filters: readings have none. Group by the dimension instead.';
  }
}
