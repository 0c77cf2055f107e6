import { z } from 'zod';
import { correctionsSchema } from '../../definitions/schema/review.ts';
import type { Column, Dataset, MetricValues, Row, Table } from '../../fetch/dataset.ts';
import { iterateRows } from '../../fetch/rows.ts';

const figuresSchema = z.record(z.string(), z.number().nullable());
const periodSchema = z.object({ from: z.string(), to: z.string(), timezone: z.string(), label: z.string() });

const sectionSchema = z.object({
  id: z.string(),
  title: z.string(),
  /** Not all rows are here, or the section has a `limit`: a row may come and go without a change of its figures. */
  capped: z.boolean(),
  /** Buckets that had not ended, whose rows are not here; null: of rows without a bucket. */
  open: z.array(z.string().nullable()),
  metrics: z.array(z.object({ name: z.string(), unit: z.string().nullable() })),
  dimensions: z.array(z.string()),
  rows: z.array(
    z.object({
      /** A civil date; null without granularity. */
      bucket: z.string().nullable(),
      /** By dimension; null: without a value of it. */
      group: z.array(z.string().nullable()),
      values: figuresSchema,
    }),
  ),
  totals: figuresSchema.nullable(),
});
/** The figures of a section that can be corrected. Numbers are raw: counts, ratios from 0 to 1, seconds. */
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
/** What a figure was judged by. */
export type Boundary = Readonly<z.infer<typeof boundarySchema>>;

const packSchema = z.object({
  value: z.string(),
  sections: z.array(sectionSchema),
  boundaries: z.array(boundarySchema),
});
/** The figures of the pack of one value. */
export type PackEdition = Readonly<z.infer<typeof packSchema>>;

export const editionFiguresSchema = z.object({
  version: z.literal(1),
  run: z.string(),
  org: z.string(),
  report: z.string(),
  digest: z.string(),
  period: periodSchema,
  section_periods: z.record(z.string(), periodSchema).exactOptional(),
  /** As in the definition of the run. */
  corrections: correctionsSchema,
  /** Definition and settings as the run used them, without the logo: the watch asks by them after Redis was lost. */
  definition: z.record(z.string(), z.unknown()),
  /** SHA-256 (hex) of the stored files that outputs were made from, by their path from the folder of `org.yaml`. */
  files: z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/)).exactOptional(),
  settings: z.record(z.string(), z.unknown()),
  sections: z.array(sectionSchema),
  boundaries: z.array(boundarySchema),
  /** Of a report with `split`, which has no `sections` of its own. */
  packs: z.array(packSchema).exactOptional(),
});
/** The figures of an edition that can be corrected later, frozen when it is published. */
export type EditionFigures = Readonly<z.infer<typeof editionFiguresSchema>>;

/** Rows of a section with more are not kept; its totals are. */
const MAX_ROWS = 20_000;

/** Metrics that replace another one, or that another one replaces: their figures are not the same ones for long. */
function isStable({ name, kind, provisional, replacedBy }: Column, { notes }: Table): boolean {
  if (kind !== 'metric' || provisional || replacedBy !== undefined) return false;
  return !notes.some(({ message }) => message.id === 'replaced' && message.of.to.id === name);
}

const dimensionsOf = ({ columns }: Table): string[] =>
  columns.filter(({ kind }) => kind === 'dimension').map(({ name }) => name);

const pick = (values: Row['values'] | MetricValues, metrics: readonly Column[]): Record<string, number | null> =>
  Object.fromEntries(
    metrics.flatMap(({ name }) => {
      const value = values[name];
      return typeof value === 'number' || value === null ? [[name, value] as const] : [];
    }),
  );

/**
 * The figures of a table that the service should report again: not those of lists, current counts, cohorts, running periods
 * and partial buckets, incomplete tables, and deprecated or replaced metrics. Undefined without one.
 */
function sectionOf(table: Table, limited: boolean): EditionSection | undefined {
  const { id, title, columns, granularity, rows, totals, notes, current, readings, range, running } = table;
  if (current || readings !== undefined || range === null || notes.some(({ incomplete }) => incomplete))
    return undefined;
  const metrics = columns.filter((column) => isStable(column, table));
  if (metrics.length === 0) return undefined;
  const dimensions = dimensionsOf(table);
  const kept: EditionSection['rows'][number][] = [];
  const open = new Set<string | null>();
  let tooMany = 'path' in rows;
  // The single row of a table without groups has the same figures as its totals.
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

/** @param sections of the definition */
export const editionSections = (
  { tables }: Pick<Dataset, 'tables'>,
  sections: readonly { readonly id: string; readonly limit?: number | undefined }[],
): EditionSection[] =>
  tables.flatMap((table) => {
    const limited = sections.some(({ id, limit }) => id === table.id && limit !== undefined);
    return sectionOf(table, limited) ?? [];
  });

/** What the figures of a judged dataset were judged by. */
export const boundariesOf = ({ judgements = [], targets = [] }: Pick<Dataset, 'judgements' | 'targets'>): Boundary[] =>
  judgements.flatMap(({ section, metric, bucket, group, target: index }) => {
    const held = targets[index];
    if (held === undefined || held.target === null) return [];
    const { better, target, watch } = held;
    const where = group && { dimension: group.dimension, value: group.value };
    return [{ section, metric, bucket, group: where, better, target, ...(watch === undefined ? {} : { watch }) }];
  });
