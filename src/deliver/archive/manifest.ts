import { z } from 'zod';
import { COMPARISON_KINDS } from '../../definitions/schema/comparison.ts';
import { BETTER, TARGET_PERIODS } from '../../definitions/schema/targets.ts';
import { RANGE_STATES, STATUSES } from '../../fetch/dataset.ts';
import { NOTE_CODES } from '../../fetch/notes.ts';

/** File name of a picture, which lies beside `mail.html`. */
export const PICTURE_NAME = /^mail-[a-z0-9][a-z0-9_-]*\.png$/;

/** Name of an e-mail body, as part of a file name. */
const BODY_NAME = /^[a-z][a-z-]{0,39}$/;

/** Far more than any run has: 100 sections of several tables with up to 100 calls each. */
const MAX_CALLS = 100_000;
/** 50 deliveries to 100 recipients each. */
const MAX_RECIPIENTS = 10_000;
/** In a report with `split`: all packs of a list file, with up to 50 files each. */
const MAX_FILES = 100_000;
const MAX_TARGETS = 10_000;
/** One figure a day over several years, for every metric of every section. */
const MAX_JUDGEMENTS = 1_000_000;
/** One reading a day over several years, with comparisons, for every section. */
const MAX_READINGS = 1_000_000;
const MAX_HEADLINES = 100;
/** In a report with `split`: packs with and without recipients. */
const MAX_PACKS = 10_000;
const MAX_BODIES = 10;
const MAX_REVIEWERS = 1_000;
const MAX_COMMENTS = 1_000;
/** In a workbook: Excel's limit of columns, and far more tables and names than any template has. */
const MAX_COLUMNS = 16_384;
const MAX_TABLES = 10_000;
const MAX_NAMES = 100_000;

/** A list whose length is checked before any entry is parsed. */
const buildListSchema = <T>(entry: z.ZodType<T>, max: number) =>
  z.array(z.unknown()).max(max).pipe(z.array(entry)).readonly();

const mailBodySchema = z.object({
  html_sha256: z.string(),
  text_sha256: z.string(),
  pictures: buildListSchema(
    z.object({ name: z.string().regex(PICTURE_NAME), cid: z.string(), sha256: z.string() }),
    MAX_FILES,
  ).optional(),
});

const nullableText = z.string().nullable();
const periodSchema = z.object({ from: z.string(), to: z.string(), timezone: z.string(), label: z.string() });

const groupSchema = z.object({ dimension: z.string(), value: z.string() });

const targetSchema = z.object({
  metric: z.string(),
  where: groupSchema.optional(),
  per: z.enum(TARGET_PERIODS).optional(),
  better: z.enum(BETTER),
  target: z.number().nullable(),
  watch: z.number().optional(),
  from: z.string().optional(),
  rows: z.array(z.string()).readonly().optional(),
  few: z.literal('ignore').optional(),
  owner: z.string().optional(),
  note: z.string().optional(),
  source: z.enum(['organization', 'report']),
});

const judgementSchema = z.object({
  section: z.string(),
  metric: z.string(),
  bucket: nullableText,
  group: groupSchema.nullable(),
  figure: z.number().nullable(),
  status: z.enum(STATUSES),
  target: z.int().nonnegative(),
  /** The same for one figure in several sections. Absent in older manifests. */
  key: z.string().optional(),
  /** Present if the figure cannot be right. Absent otherwise, and in older manifests. */
  wrong: z.literal(true).optional(),
  /** Present if the figure has too few cases. Absent otherwise, and in older manifests. */
  few: z.union([z.literal(true), z.literal('ignored')]).optional(),
  /** Present while the status can still change. Absent otherwise, and in older manifests. */
  soFar: z.literal(true).optional(),
});

/** A figure's usual range, as unformatted numbers. */
const rangeSchema = z.object({
  section: z.string(),
  metric: z.string(),
  value: z.number(),
  low: z.number(),
  high: z.number(),
  state: z.enum(RANGE_STATES),
  /** Index of the headline about it, from 0. */
  headline: z.int().nonnegative().optional(),
});

const readingSchema = z.object({
  section: z.string(),
  of: z.enum(['rows', 'totals']),
  bucket: nullableText,
  comparison: z.enum(COMPARISON_KINDS).nullable(),
  day: z.string(),
  question: z.string(),
  as_of: nullableText,
  correlation_id: nullableText,
});
/** Names the reading, or the gap in place of one, behind values of the run. */
export type ReadingRecord = Readonly<z.infer<typeof readingSchema>>;

const trendReadingSchema = readingSchema
  .pick({ section: true, day: true, question: true, as_of: true, correlation_id: true })
  .extend({ bucket: z.string() });
/** Names the reading, or the gap in place of one, behind a point of a trend. */
export type TrendReadingRecord = Readonly<z.infer<typeof trendReadingSchema>>;

const filledWorkbookSchema = z.object({
  template: z.string(),
  sha256: z.string(),
  defined_sha256: z.string().exactOptional(),
  tables: buildListSchema(
    z.object({
      name: z.string(),
      sheet: z.string(),
      range: z.string(),
      section: z.string(),
      rows: z.int().nonnegative(),
      columns: buildListSchema(z.object({ header: z.string(), bound: nullableText }), MAX_COLUMNS),
    }),
    MAX_TABLES,
  ),
  names: buildListSchema(z.object({ name: z.string(), cell: z.string() }), MAX_NAMES),
});

const deskSchema = z.object({
  value: z.string(),
  label: z.string(),
  slug: z.string().regex(/^[a-z0-9-]{1,60}$/),
});

const packManifestSchema = z.object({
  version: z.literal(1),
  run: z.string(),
  org: z.string(),
  organization: z.string(),
  report: z.string(),
  title: z.string(),
  owner: z.string(),
  /** ISO instant of the schedule, or the trigger's id. */
  slot: z.string(),
  digest: z.string(),
  /** In the manifest of a pack: its value in a report with `split`. Absent in the manifest of a run. */
  desk: deskSchema.optional(),
  period: periodSchema,
  /** Periods of sections that have their own, by section id. Absent without any, and in older manifests. */
  section_periods: z.record(z.string(), periodSchema).optional(),
  registry_version: z.number(),
  calls: buildListSchema(
    z.object({
      id: z.string(),
      method: z.string(),
      path: z.string(),
      sections: z.array(z.string()).readonly(),
      asOf: nullableText,
      cached: z.boolean().nullable(),
      correlationId: nullableText,
      rows: z.number(),
      saved: z.boolean(),
      shared: z.object({ run: z.string(), at: z.string() }).optional(),
      /** Column labels that differ from the catalog's. Absent without any, and in older manifests. */
      labels: z.record(z.string(), z.string()).optional(),
    }),
    MAX_CALLS,
  ),
  /** The readings of current counts behind the figures, with gaps. Absent without any, and in older manifests. */
  readings: buildListSchema(readingSchema, MAX_READINGS).optional(),
  /**
   * The readings behind points of trends, with gaps. Absent without any, and in older manifests. Separate from
   * `readings`, because older versions accept only a fixed list of `of` there.
   */
  trend_readings: buildListSchema(trendReadingSchema, MAX_READINGS).optional(),
  incomplete: buildListSchema(
    z.object({
      section: z.string(),
      code: z.enum(NOTE_CODES),
      text: z.string(),
      incomplete: z.boolean(),
    }),
    MAX_CALLS,
  ),
  files: buildListSchema(
    z.object({
      name: z.string(),
      format: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,39}$/),
      media_type: z.string().max(255).optional(),
      part: z.object({ of: z.string(), role: z.enum(['companion', 'bundle']) }).optional(),
      bytes: z.number(),
      sha256: z.string(),
      /** What was filled in the template. Absent if the file is not made from a template, and in older manifests. */
      workbook: filledWorkbookSchema.optional(),
    }),
    MAX_FILES,
  ),
  /**
   * SHA-256 (hex) of `mail.html`, `mail.txt` and the inline pictures. The archive adds them when it publishes the run.
   * `body` names the body in these files; `others` are the bodies in `mail-<body>.html` and `mail-<body>.txt`. Both are
   * absent in older manifests.
   */
  mail: mailBodySchema
    .extend({
      body: z.string().regex(BODY_NAME).optional(),
      others: buildListSchema(mailBodySchema.extend({ body: z.string().regex(BODY_NAME) }), MAX_BODIES).optional(),
    })
    .optional(),
  recipients: buildListSchema(z.string(), MAX_RECIPIENTS),
  /** SHA-256 (hex) over the values of every table: equal for equal figures. Absent if no delivery has a condition. */
  figures: z.string().optional(),
  /**
   * SHA-256 (hex) of the stored figures, in the archive's `.corrections/`, with which the edition is compared later.
   * Absent without `corrections` in the report.
   */
  edition_figures: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  /**
   * In a corrected edition: the run that it replaces, when that run was delivered (ISO), the number of changed figures,
   * and the prefix of its e-mail subjects, in the report's language. `edition` counts from 1, the original; `automatic`
   * counts the corrected editions that Docket sent without a person. Both are absent in older manifests.
   */
  corrects: z
    .object({
      run: z.string(),
      at: z.string(),
      changes: z.int().nonnegative(),
      subject: z.string().optional(),
      edition: z.int().positive().optional(),
      automatic: z.int().nonnegative().optional(),
    })
    .optional(),
  /** In a repeated copy: the run that delivered the period before, when (ISO), and the prefix of the subjects. */
  repeats: z.object({ run: z.string(), at: z.string(), subject: z.string() }).optional(),
  /** Decisions on the deliveries with `send_if`; in a corrected edition, on all deliveries. */
  conditions: buildListSchema(
    z.object({
      target: z.string(),
      recipient: nullableText,
      send_if: z.string(),
      send: z.boolean(),
      reason: z.string(),
    }),
    MAX_RECIPIENTS,
  ).optional(),
  /** A figure with fewer cases than this counts as small. Absent in older manifests. */
  small: z.int().optional(),
  /** Metrics that count the cases behind ratios and durations. Absent without any, and in older manifests. */
  bases: buildListSchema(
    z.object({
      metric: z.string(),
      base: z.string(),
      share: z.string().optional(),
      atMost: z.literal(true).optional(),
    }),
    MAX_TARGETS,
  ).optional(),
  /** The targets that applied to the figures. Absent without any, and in older manifests. */
  targets: buildListSchema(targetSchema, MAX_TARGETS).optional(),
  /** The statuses of the figures. `target` is an index into `targets`. */
  judgements: buildListSchema(judgementSchema, MAX_JUDGEMENTS).optional(),
  /** Sentences, the most important first, in the report's language. */
  headlines: buildListSchema(z.string(), MAX_HEADLINES).optional(),
  /** Figures and their usual ranges. Absent without any, and in older manifests. */
  ranges: buildListSchema(rangeSchema, MAX_JUDGEMENTS).optional(),
  /**
   * The review before publication. Absent without a review, and in older manifests. `content` is the SHA-256 (hex) of
   * what was approved: `figures` and the comments. `figures` is the SHA-256 of everything else that was frozen.
   */
  review: z
    .object({
      content: z.string(),
      figures: z.string(),
      /** How many different people had to approve; 0 for a review with comments only. */
      need: z.int().nonnegative(),
      approved_by: buildListSchema(
        z.object({
          ...{ person: z.string(), name: z.string(), principal: z.string(), at: z.string(), reason: z.string() },
          /** The approver for whom a deputy approved. Absent if no deputy did, and in older manifests. */
          for: z.object({ person: z.string(), name: z.string() }).exactOptional(),
        }),
        MAX_REVIEWERS,
      ),
      comments: buildListSchema(
        z.object({
          section: nullableText,
          /** Shown only in the pack of this value. */
          value: z.string().optional(),
          text: z.string(),
          person: z.string(),
          author: z.string(),
          at: z.string(),
          version: z.int().positive(),
        }),
        MAX_COMMENTS,
      ),
    })
    .optional(),
  /** ISO instant at which the files were made. */
  made_at: z.string(),
  /** Only in a bucket: name of the folder, beside the manifest, that holds the published files. */
  stored: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .optional(),
});

/**
 * The pack of one value. Its files are in a folder named after its slug, and are also listed in the run's `files`, e.g.
 * `retail-0a1b2c3d4e/KPIs.xlsx`. The pack's manifest names them without the folder. It is the manifest of a run for
 * this value alone, without `calls`.
 */
const unmarkedSchema = z.object({ slug: z.string(), manifest: packManifestSchema.optional() });
const packSchema = deskSchema.extend({
  /** Nobody receives a `held` pack; `reason` says why, in one sentence. */
  state: z.enum(['ready', 'held']),
  reason: z.string().optional(),
  /** Absent if the pack could not be made. */
  manifest: packManifestSchema.extend({ unmarked: unmarkedSchema.optional() }).optional(),
});
export type PackRecord = Readonly<z.infer<typeof packSchema>>;

const manifestFieldsSchema = packManifestSchema.extend({
  /** The packs of a report with `split`. Absent in other reports, and in older manifests. */
  packs: buildListSchema(packSchema, MAX_PACKS).optional(),
  /**
   * In a corrected edition: the file set without the correction mark, for recipients whose open delivery of the
   * replaced edition was withdrawn. Like a pack, it has its own folder and manifest. In the run's `files`, its files
   * have the format `unmarked`. Absent without such recipients, and in older manifests.
   */
  unmarked: unmarkedSchema.optional(),
  /** One sentence for each group of rows that is in no pack. Absent without any. */
  unassigned: buildListSchema(z.string(), MAX_PACKS).optional(),
});

/** `manifest.json`: what a run produced and from which calls. Written once, when all files are complete. */
export type Manifest = Readonly<z.infer<typeof manifestFieldsSchema>>;

/** The stored form of `manifest.json`. Loose: a newer version of Docket may have written more fields. */
export const manifestSchema: z.ZodType<Manifest> = manifestFieldsSchema.loose();
