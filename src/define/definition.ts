import { z } from 'zod';
import { civilDateSchema } from '../contract/catalog.ts';
import { LIMITS } from '../contract/limits.ts';
import { FILTER_OPS, GRANULARITIES, orderSchema } from '../contract/report.ts';
import { CATCH_UP, scheduleSchema } from './schedule.ts';

/** The largest definition file that is read, in bytes. */
export const MAX_DEFINITION_BYTES = 1024 * 1024;

const id = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9_-]{0,62}$/,
    'lower-case letters, digits, "-" and "_" (at most 63, starting with a letter or digit)',
  );
const text = (max: number) => z.string().min(1, 'a text that is not empty').max(max, `at most ${max} characters`);

/** Periods that are computed from the slot in the report's zone. */
export const NAMED_PERIODS = [
  'previous_day',
  'previous_week',
  'previous_month',
  'previous_quarter',
  'previous_year',
  'current_day',
  'current_week',
  'current_month',
  'current_quarter',
  'current_year',
  'week_to_date',
  'month_to_date',
  'quarter_to_date',
  'year_to_date',
] as const;
const LAST_N = /^last_([1-9]\d{0,2})_(days|weeks|months)$/;

export const periodSpecSchema = z
  .union([
    z.enum(NAMED_PERIODS),
    z.string().regex(LAST_N),
    z.strictObject({ from: civilDateSchema, to: civilDateSchema }),
  ])
  .describe(
    'Which days the figures cover: a name such as previous_week, month_to_date or last_30_days, or { from, to } (both included).',
  );
export type PeriodSpec = z.infer<typeof periodSpecSchema>;

/** As the API's filter, and one value may be written without a list. */
const filterSchema = z.strictObject({
  dimension: z.string(),
  op: z.enum(FILTER_OPS).default('in'),
  values: z
    .union([z.string().transform((value) => [value]), z.array(z.string()).min(1)])
    .describe(`The values to compare with; at most ${LIMITS.max_filter_values}.`),
});

export const CHART_KINDS = ['line', 'column', 'stacked_column', 'bar'] as const;

export const sectionSchema = z
  .strictObject({
    id: id.describe('Names the section in files and errors; unique in the report.'),
    title: text(200).optional().describe('Defaults to the id.'),
    description: text(2000).optional(),
    metrics: z.array(z.string()).min(1).optional().describe('Metric ids; each becomes a column.'),
    dimensions: z
      .array(z.string())
      .max(LIMITS.max_dimensions)
      .optional()
      .describe('Dimension ids to group by, at most two.'),
    granularity: z
      .enum(GRANULARITIES)
      .optional()
      .describe('Absent: one row per group; the only way to read a current count.'),
    filters: z.array(filterSchema).optional(),
    order: z.array(orderSchema).optional(),
    limit: z.int().min(1).max(LIMITS.max_rows).optional(),
    totals: z.boolean().default(false).describe("Adds the service's own totals row."),
    chart: z.enum(CHART_KINDS).optional(),
    list: z.literal('profiles').optional().describe('Exports a list instead of metrics, all pages.'),
    ordering: z.string().optional().describe('Of a list: a field name, "-" in front reverses.'),
    search: z.string().optional().describe('Of a list: free text.'),
  })
  .superRefine((section, context) => {
    const only = (names: readonly (keyof typeof section)[], of: string) => {
      for (const name of names) {
        if (section[name] !== undefined && section[name] !== false) {
          context.addIssue({
            code: 'custom',
            path: [name],
            message: `no "${name}" here: it belongs to a section with "${of}"`,
          });
        }
      }
    };
    if (section.list === undefined && section.metrics === undefined) {
      context.addIssue({ code: 'custom', message: 'either "metrics" or "list" in the section' });
    }
    if (section.list !== undefined) {
      only(['metrics', 'dimensions', 'granularity', 'filters', 'order', 'limit', 'totals', 'chart'], 'metrics');
    } else {
      only(['ordering', 'search'], 'list');
    }
  });

/** LiquidJS template over `period`, `org`, `report`, `run`; rendered by `render/name.ts`. */
const nameTemplate = text(300);

const outputSchema = z.discriminatedUnion('format', [
  z.strictObject({ format: z.literal('xlsx'), name: nameTemplate.optional() }),
  z.strictObject({ format: z.literal('csv'), name: nameTemplate.optional() }),
]);
export type Output = z.infer<typeof outputSchema>;
export type OutputFormat = Output['format'];

const emailTargetSchema = z.strictObject({
  to: z.array(z.string()).min(1).describe("Recipients; each must match the organization's `recipients`."),
  subject: nameTemplate.optional(),
  attach: z
    .array(z.enum(['xlsx', 'csv']))
    .default([])
    .describe('Which of the outputs to attach.'),
});
const s3TargetSchema = z.strictObject({ bucket: text(63), key: nameTemplate });
const sftpTargetSchema = z.strictObject({ host: text(253), path: nameTemplate });
const directoryTargetSchema = z.strictObject({ path: nameTemplate });

export const deliverySchema = z
  .strictObject({
    email: emailTargetSchema.optional(),
    s3: s3TargetSchema.optional(),
    sftp: sftpTargetSchema.optional(),
    directory: directoryTargetSchema.optional(),
  })
  .superRefine((delivery, context) => {
    const named = Object.keys(delivery);
    if (named.length !== 1) {
      context.addIssue({ code: 'custom', message: 'exactly one target (email or directory) per entry of the list' });
    }
    for (const target of ['s3', 'sftp'] as const) {
      if (delivery[target] !== undefined) {
        context.addIssue({
          code: 'custom',
          path: [target],
          message: `email or directory: "${target}" is not supported yet`,
        });
      }
    }
  });
export type DeliverySpec = z.infer<typeof deliverySchema>;

/** A saved report as its YAML file says it: `jobs/<org>/<report>.yaml`, the file's stem being its id. */
export const reportFileSchema = z
  .strictObject({
    version: z.literal(1),
    title: text(200),
    description: text(2000).optional(),
    owner: z.email('an e-mail address').describe('Told once when a run has failed for good.'),
    schedule: scheduleSchema.optional().describe('Absent: on demand only.'),
    period: periodSpecSchema.describe('Frozen into the run when it is triggered.'),
    timezone: z.string().optional().describe("The period's IANA zone; defaults to the organization's."),
    compare: z.literal('previous_period').optional(),
    sections: z.array(sectionSchema).min(1),
    outputs: z.array(outputSchema).min(1),
    deliveries: z.array(deliverySchema).default([]),
    on_incomplete: z
      .enum(['fail', 'hold', 'flag'])
      .default('flag')
      .describe(
        'What happens when figures are missing, truncated or stale: fail the run, hold the delivery, or deliver with a flag.',
      ),
  })
  .superRefine((report, context) => {
    const seen = new Map<string, number>();
    report.sections.forEach((section, index) => {
      const first = seen.get(section.id);
      if (first !== undefined) {
        context.addIssue({
          code: 'custom',
          path: ['sections', index, 'id'],
          message: `an id of its own: "${section.id}" is already the id of sections[${first}]`,
        });
      }
      seen.set(section.id, index);
    });
    const formats = new Set(report.outputs.map((output) => output.format));
    report.deliveries.forEach((delivery, index) => {
      delivery.email?.attach.forEach((format, position) => {
        if (!formats.has(format)) {
          context.addIssue({
            code: 'custom',
            path: ['deliveries', index, 'email', 'attach', position],
            message: `a format that "outputs" makes (${[...formats].join(', ')})`,
          });
        }
      });
    });
  });
export type ReportFile = z.infer<typeof reportFileSchema>;
export type Section = ReportFile['sections'][number];

export { CATCH_UP };

/** A validated report with where it came from. It holds references to secrets, never values, and may be stored. */
export interface Definition extends ReportFile {
  /** The folder under `jobs/`. */
  readonly org: string;
  /** The file's stem. */
  readonly report: string;
  /** SHA-256 (hex) of the file's text and its organization's: two runs with one digest ran the same definition. */
  readonly digest: string;
}
