import { z } from 'zod';
import { type ChartKind, type ChartSpec, chartAsked } from './chart.ts';
import { deadlineSchema } from './deadline.ts';
import { localeSchema } from './locale.ts';
import { maxAgeSchema } from './max-age.ts';
import { classificationSchema } from './org.ts';
import { NAMED_PERIODS, type PeriodSpec, periodSpecSchema } from './period-spec.ts';
import { CATCH_UP, schedulesSchema } from './schedule.ts';
import { sectionSchema } from './section.ts';
import {
  type DeliverySpec,
  deliverySchema,
  OUTPUT_FORMATS,
  type Output,
  type OutputFormat,
  outputSchema,
} from './target.ts';
import { namesSection } from './template.ts';
import { lineSchema, textSchema } from './words.ts';
import { zoneSchema } from './zone.ts';

export type { ChartKind, ChartSpec, DeliverySpec, Output, OutputFormat, PeriodSpec };
export { CATCH_UP, chartAsked, deliverySchema, NAMED_PERIODS, periodSpecSchema, sectionSchema };

/** The largest definition file that is read, in bytes. */
export const MAX_DEFINITION_BYTES = 1024 * 1024;

/** A saved report as its YAML file says it: `jobs/<org>/<report>.yaml`, the file's stem being its id. */
export const reportFileSchema = z
  .strictObject({
    version: z.literal(1),
    title: lineSchema(200),
    description: textSchema(2000).optional(),
    owner: z.email('an e-mail address').describe('Told once when a run has failed for good.'),
    classification: classificationSchema.optional(),
    schedule: schedulesSchema,
    period: periodSpecSchema.describe('Frozen into the run when it is triggered.'),
    timezone: zoneSchema.optional().describe("The period's IANA zone; defaults to the organization's."),
    locale: localeSchema.optional(),
    compare: z.literal('previous_period').optional().describe('Adds the figures of the period just before.'),
    follow_replacements: z
      .boolean()
      .default(false)
      .describe('Asks for the successor of a deprecated metric in its place; the table says so.'),
    max_age: maxAgeSchema
      .prefault('15m')
      .describe(
        "How old an answer of the organization's other runs may be to be used instead of asking again: seconds, or with a unit (30s, 15m, 1h). 0 always asks.",
      ),
    deadline: deadlineSchema
      .prefault('24h')
      .describe(
        'How long a run may take from its first start, waiting included, before it is given up: seconds, or with a unit (30m, 4h, 2d).',
      ),
    sections: z.array(sectionSchema).min(1).max(100),
    outputs: z.array(outputSchema).min(1).max(OUTPUT_FORMATS.length),
    deliveries: z.array(deliverySchema).max(50).default([]),
    on_incomplete: z
      .enum(['fail', 'hold', 'flag'])
      .default('flag')
      .describe(
        'What happens when figures are missing, truncated or stale: fail the run, hold the delivery, or deliver with a flag.',
      ),
  })
  .superRefine(crossCheck, { when: () => true });
export type ReportFile = z.infer<typeof reportFileSchema>;
export type Section = ReportFile['sections'][number];
/** A section that asks for metrics: every one that has no `list`. */
export type MetricsSection = Section & { readonly metrics: readonly string[] };

/** What a report may look like when some of its fields are faulty: whatever cannot be read is as if absent. */
const sketchSchema = z.looseObject({
  sections: z.array(z.looseObject({ id: z.string().optional() }).catch({})).catch([]),
  outputs: z
    .array(
      z
        .looseObject({ format: z.string().catch(''), name: z.string().optional().catch(undefined) })
        .catch({ format: '' }),
    )
    .catch([]),
  deliveries: z
    .array(
      z.looseObject({ email: z.looseObject({ attach: z.array(z.string().catch('')).catch([]) }).optional() }).catch({}),
    )
    .catch([]),
});

/** The rules between sections, outputs and deliveries; checked even when other fields are faulty, so that all faults come at once. */
function crossCheck(report: unknown, context: z.core.$RefinementCtx): void {
  const sketch = sketchSchema.safeParse(report);
  if (!sketch.success) return;
  const { sections, outputs, deliveries } = sketch.data;
  const ids = new Map<string, number>();
  sections.forEach(({ id }, index) => {
    if (id === undefined) return;
    const first = ids.get(id);
    if (first === undefined) {
      ids.set(id, index);
      return;
    }
    context.addIssue({
      code: 'custom',
      path: ['sections', index, 'id'],
      message: `an id of its own (the one of sections[${first}] already)`,
      params: { next: 'give one of the two another id' },
    });
  });
  // What is wrong with an output says nothing about the attachments that name it.
  if (context.issues.some(({ path }) => path?.[0] === 'outputs')) return;
  const formats = outputs.map(({ format }) => format);
  outputs.forEach(({ format, name }, index) => {
    if (format !== 'csv' || name === undefined || sections.length < 2 || namesSection(name)) return;
    context.addIssue({
      code: 'custom',
      path: ['outputs', index, 'name'],
      message: 'a name of its own for the file of each section',
      params: { next: 'put {{ section.id }} into the name' },
    });
  });
  formats.forEach((format, index) => {
    if (formats.indexOf(format) === index) return;
    context.addIssue({
      code: 'custom',
      path: ['outputs', index, 'format'],
      message: 'each format once',
      params: { next: 'remove the second one' },
    });
  });
  deliveries.forEach(({ email }, index) => {
    email?.attach.forEach((format, position) => {
      if (formats.includes(format) || !isFormat(format)) return;
      context.addIssue({
        code: 'custom',
        path: ['deliveries', index, 'email', 'attach', position],
        message: `a format that "outputs" makes (${formats.join(', ')})`,
        params: { next: 'add it to "outputs", or remove it here' },
      });
    });
  });
}

const isFormat = (text: string) => OUTPUT_FORMATS.some((format) => format === text);

/** A validated report with where it came from. It holds references to secrets, never values, and may be stored. */
export interface Definition extends ReportFile {
  /** The folder under `jobs/`. */
  readonly org: string;
  /** The file's stem. */
  readonly report: string;
  /** SHA-256 (hex) of the file's text and its organization's: two runs with one digest ran the same definition. */
  readonly digest: string;
}
