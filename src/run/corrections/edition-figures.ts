import { z } from 'zod';
import { correctionsSchema } from '../../definitions/schema/review.ts';
import type { Column, Dataset, MetricValues, Row, Table } from '../../fetch/dataset.ts';
import { iterateRows } from '../../fetch/rows.ts';

const figuresSchema = z.record(z.string(), z.number().nullable());
const periodSchema = z.object({ from: z.string(), to: z.string(), timezone: z.string(), label: z.string() });

const sectionSchema = z.object({
  id: z.string(),
  title: z.string(),
  /**
   * Some rows are missing here, or the section has a `limit`: a row may come and go without a change of its figures.
   */
  capped: z.boolean(),
  /** Buckets that had not ended: their rows are missing here. Null stands for rows without a bucket. */
  open: z.array(z.string().nullable()),
  metrics: z.array(z.object({ name: z.string(), unit: z.string().nullable() })),
  dimensions: z.array(z.string()),
  rows: z.array(
    z.object({
      /** A date; null without granularity. */
      bucket: z.string().nullable(),
      /** One value per dimension; null if the row has none. */
      group: z.array(z.string().nullable()),
      values: figuresSchema,
    }),
  ),
  totals: figuresSchema.nullable(),
});
/** The correctable figures of a section. Numbers are raw: counts, ratios from 0 to 1, seconds. */
export type EditionSection = Readonly<z.infer<typeof sectionSchema>>;

const boundarySchema = z.object({
  section: z.string(),
  metric: z.string(),
  bucket: z.string().nullable(),
  group: z.object({ dimension: z.string(), value: z.string() }).nullable(),
  better: z.enum(['higher', 'lower']),
  target: z.number(),
  watch: z.number().exactOptional(),
});
/** The target and watch limit by which a figure was judged. */
export type Boundary = Readonly<z.infer<typeof boundarySchema>>;

const packSchema = z.object({
  value: z.string(),
  sections: z.array(sectionSchema),
  boundaries: z.array(boundarySchema),
});
/** The figures of one value's pack. */
export type PackEdition = Readonly<z.infer<typeof packSchema>>;

export const editionFiguresSchema = z.object({
  version: z.literal(1),
  run: z.string(),
  org: z.string(),
  report: z.string(),
  digest: z.string(),
  period: periodSchema,
  section_periods: z.record(z.string(), periodSchema).exactOptional(),
  /** The same as in the run's definition. */
  corrections: correctionsSchema,
  /**
   * Definition and settings of the run, without the logo. The watch uses them for its requests after Redis was lost.
   */
  definition: z.record(z.string(), z.unknown()),
  /** SHA-256 (hex) of stored files from which outputs were made, by path relative to the folder of `org.yaml`. */
  files: z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/)).exactOptional(),
  settings: z.record(z.string(), z.unknown()),
  sections: z.array(sectionSchema),
  boundaries: z.array(boundarySchema),
  /** Only with `split`: `sections` is then empty. */
  packs: z.array(packSchema).exactOptional(),
});
/** An edition's figures that can be corrected later, frozen when the edition is published. */
export type EditionFigures = Readonly<z.infer<typeof editionFiguresSchema>>;

/** A section with more rows keeps only its totals. */
const MAX_ROWS = 20_000;

/**
 * Whether a metric stays comparable. The figures of a metric that replaces another one, or is replaced by one, change
 * their meaning.
 */
function isStable({ name, kind, provisional, replacedBy }: Column, { notes }: Table): boolean {
  if (kind !== 'metric' || provisional || replacedBy !== undefined) return false;
  return !notes.some(({ message }) => message.id === 'replaced' && message.of.to.id === name);
}

const collectDimensions = ({ columns }: Table): string[] =>
  columns.filter(({ kind }) => kind === 'dimension').map(({ name }) => name);

const pick = (values: Row['values'] | MetricValues, metrics: readonly Column[]): Record<string, number | null> =>
  Object.fromEntries(
    metrics.flatMap(({ name }) => {
      const value = values[name];
      return typeof value === 'number' || value === null ? [[name, value] as const] : [];
    }),
  );

/**
 * The figures of a table that the service should report again unchanged. Leaves out lists, current counts, cohorts,
 * running periods, partial buckets, incomplete tables, and deprecated or replaced metrics. Undefined if nothing is
 * left.
 */
function buildSection(table: Table, limited: boolean): EditionSection | undefined {
  const { id, title, columns, granularity, rows, totals, notes, current, readings, range, running } = table;
  if (current || readings !== undefined || range === null || notes.some(({ incomplete }) => incomplete))
    return undefined;
  const metrics = columns.filter((column) => isStable(column, table));
  if (metrics.length === 0) return undefined;
  const dimensions = collectDimensions(table);
  const kept: EditionSection['rows'][number][] = [];
  const open = new Set<string | null>();
  let tooMany = 'path' in rows;
  // In a table without groups, the single row has the same figures as the totals.
  const isSameAsTotals = totals !== undefined && granularity === null && dimensions.length === 0;
  for (const { values, partial } of tooMany || isSameAsTotals ? [] : iterateRows(rows)) {
    const bucket = typeof values.bucket === 'string' ? values.bucket : null;
    if (partial || (bucket === null && running)) {
      open.add(bucket);
      continue;
    }
    if (kept.length === MAX_ROWS) {
      tooMany = true;
      break;
    }
    const group = dimensions.map((name) => (typeof values[name] === 'string' ? values[name] : null));
    kept.push({ bucket, group, values: pick(values, metrics) });
  }
  return {
    id,
    title,
    capped: limited || tooMany,
    open: [...open],
    metrics: metrics.map(({ name, unit }) => ({ name, unit })),
    dimensions,
    rows: tooMany ? [] : kept,
    totals: totals === undefined || running ? null : pick(totals.values, metrics),
  };
}

/** @param sections the definition's sections */
export const editionSections = (
  { tables }: Pick<Dataset, 'tables'>,
  sections: readonly { readonly id: string; readonly limit?: number | undefined }[],
): EditionSection[] =>
  tables.flatMap((table) => {
    const limited = sections.some(({ id, limit }) => id === table.id && limit !== undefined);
    return buildSection(table, limited) ?? [];
  });

/** The targets and limits by which the figures of a dataset were judged. */
export const collectBoundaries = ({
  judgements = [],
  targets = [],
}: Pick<Dataset, 'judgements' | 'targets'>): Boundary[] =>
  judgements.flatMap(({ section, metric, bucket, group, target: index }) => {
    const held = targets[index];
    if (held === undefined || held.target === null) return [];
    const { better, target, watch } = held;
    const where = group && { dimension: group.dimension, value: group.value };
    return [{ section, metric, bucket, group: where, better, target, ...(watch === undefined ? {} : { watch }) }];
  });
