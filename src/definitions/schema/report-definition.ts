import { z } from 'zod';
import { NAMED_PERIODS, type PeriodSpec, periodSpecSchema } from '../periods/period-spec.ts';
import { CATCH_UP, schedulesSchema } from '../schedules/schedule.ts';
import { type ChartKind, type ChartSpec, normalizeChart } from './chart.ts';
import { compareSchema, toDateSchema } from './comparison.ts';
import type { DefinitionKinds, DeliverySpec, Output } from './kinds.ts';
import { isTrendOfScorecard, withScorecardMetrics } from './layout.ts';
import { classificationSchema } from './org-settings.ts';
import { createOutputSchema, outputIssues } from './outputs.ts';
import { approvalSchema, correctionsSchema } from './review.ts';
import { sectionSchema } from './section.ts';
import { sendIfSchema } from './send-condition.ts';
import { type Desk, splitSchema } from './split.ts';
import { MAX_HEADLINES, targetListSchema } from './targets.ts';
import { deadlineSchema, maxAgeSchema } from './values/durations.ts';
import { lineSchema, localeSchema, printedLineSchema, printedTextSchema, zoneSchema } from './values/primitives.ts';
import { labelsSchema, unitsSchema } from './values/units.ts';

export type { ChartKind, ChartSpec, DeliverySpec, Output, PeriodSpec };
export { CATCH_UP, NAMED_PERIODS, normalizeChart as chartAsked, periodSpecSchema, sectionSchema };

/** The largest definition file that is read, in bytes. */
export const MAX_DEFINITION_BYTES = 1024 * 1024;

/**
 * The schema of a saved report, as its YAML file contains it: `jobs/<org>/<report>.yaml`. The name of the file is the
 * report's id.
 */
export function createReportSchema(kinds: DefinitionKinds) {
  return z
    .strictObject({
      version: z.literal(1),
      title: printedLineSchema(200),
      description: printedTextSchema(2000).optional(),
      owner: z.email('an e-mail address').describe('Notified once when a run has failed permanently.'),
      classification: classificationSchema.optional(),
      schedule: schedulesSchema,
      period: periodSpecSchema.describe('Frozen into the run when it is triggered.'),
      period_from: z
        .enum(['report', 'slot'])
        .optional()
        .describe(
          "Where the periods of sections count from. report (default): the end of the report's period; slot: the slot or trigger, as in 0.2.0. If set, `docket check` does not warn of sections whose days have changed.",
        ),
      timezone: zoneSchema.optional().describe("The period's IANA zone; defaults to the organization's."),
      locale: localeSchema.optional(),
      compare: compareSchema.optional(),
      to_date: toDateSchema.optional(),
      follow_replacements: z
        .boolean()
        .default(false)
        .describe('Requests the successor of a deprecated metric instead; the table says so.'),
      max_age: maxAgeSchema
        .prefault('15m')
        .describe(
          'How old a response of another run of the organization may be to be used instead of a new request: seconds, or with a unit (30s, 15m, 1h). 0 always makes a new request.',
        ),
      deadline: deadlineSchema
        .prefault('24h')
        .describe(
          'How long a run may take from its first start, including waits, before it fails: seconds, or with a unit (30m, 4h, 2d).',
        ),
      split: splitSchema
        .optional()
        .describe('Fetches all values of a dimension at once, and gives each value a pack with only its own figures.'),
      sections: z
        .array(sectionSchema)
        .min(1)
        .max(100)
        .transform((sections, context) => {
          const filled = withScorecardMetrics(sections);
          filled.forEach((section, index) => {
            if (!isTrendOfScorecard(section)) return;
            const message = '"metrics" of a trend, or a scorecard in the report, whose metrics it shows';
            const params = { next: 'add one of them' };
            context.addIssue({ code: 'custom', path: [index, 'layout'], message, params });
          });
          return filled;
        }),
      targets: targetListSchema
        .optional()
        .describe('Replaces those of targets.yaml with the same metric and where, in this report.'),
      headline: z
        .array(lineSchema(200))
        .min(1)
        .max(MAX_HEADLINES)
        .optional()
        .describe(
          'Ids of the metrics that get a headline, in this order. Default: breached, watch, then the largest changes.',
        ),
      units: unitsSchema.optional(),
      labels: labelsSchema.optional(),
      workbook_units: z
        .literal('report')
        .optional()
        .describe(
          'report: units of org.yaml also apply to your own workbooks (`template`). Default: in them, durations without a unit in their name stay in seconds.',
        ),
      outputs: z.array(createOutputSchema(kinds.formats)).min(1).max(kinds.formats.length),
      deliveries: z.array(createDeliverySchema(kinds)).max(50).default([]),
      on_incomplete: z
        .enum(['fail', 'hold', 'flag'])
        .default('flag')
        .describe(
          'What happens when figures are missing, truncated or stale: fail the run, hold the delivery, or deliver with a flag.',
        ),
      approval: approvalSchema
        .optional()
        .describe('Nothing is delivered before these people have approved exactly its content.'),
      corrections: correctionsSchema
        .optional()
        .describe('Watches the figures of delivered editions and reports what the service has changed since.'),
    })
    .superRefine(createCrossCheck(kinds), { when: () => true });
}
export type ReportFile = z.infer<ReturnType<typeof createReportSchema>>;
export type Section = ReportFile['sections'][number];
/** A section with metrics: every section without a `list`. */
export type MetricsSection = Section & { readonly metrics: readonly string[] };

/** The schema of a report of which some fields may be invalid. What cannot be read counts as absent. */
const createPartialSchema = ({ targets }: DefinitionKinds) =>
  z.looseObject({
    sections: z.array(z.looseObject({ id: z.string().optional() }).catch({})).catch([]),
    outputs: z.array(z.looseObject({ format: z.string().catch('') }).catch({ format: '' })).catch([]),
    deliveries: z
      .array(
        z
          .object(
            Object.fromEntries(
              targets.flatMap(({ kind, attachField }) =>
                attachField === undefined
                  ? []
                  : [[kind, z.object({ [attachField]: z.array(z.string().catch('')).catch([]) }).optional()]],
              ),
            ),
          )
          .catch({}),
      )
      .catch([]),
  });

/**
 * The rules between sections, outputs and deliveries. They are checked even if other fields are invalid, so that all
 * errors are reported at once.
 */
function createCrossCheck(kinds: DefinitionKinds): (report: unknown, context: z.core.$RefinementCtx) => void {
  const schema = createPartialSchema(kinds);
  const formatNames = kinds.formats.map(({ format }) => format);
  return (report, context) => {
    const partial = schema.safeParse(report);
    if (!partial.success) return;
    const { sections, outputs, deliveries } = partial.data;
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
    if (sections.length > 0 && sections.every(({ layout }) => layout === 'text')) {
      context.addIssue({
        code: 'custom',
        path: ['sections'],
        message: 'a section with "metrics" or a "list" besides the text, which has no figures of its own',
        params: { next: 'add one' },
      });
    }
    // If an output is invalid, nobody knows whether attachments name it correctly.
    if (context.issues.some(({ path }) => path?.[0] === 'outputs')) return;
    const made = outputs.map(({ format }) => format);
    const withFigures = sections.filter(({ layout }) => layout !== 'text');
    for (const { path, expected, next } of outputIssues(outputs, withFigures, kinds.formats)) {
      context.addIssue({ code: 'custom', path: ['outputs', ...path], message: expected, params: { next } });
    }
    made.forEach((format, index) => {
      if (made.indexOf(format) === index) return;
      context.addIssue({
        code: 'custom',
        path: ['outputs', index, 'format'],
        message: 'each format once',
        params: { next: 'remove the second one' },
      });
    });
    deliveries.forEach((delivery, index) => {
      for (const [kind, fields] of Object.entries(delivery)) {
        for (const [field, attached] of Object.entries(fields ?? {})) {
          attached.forEach((format, position) => {
            if (made.includes(format) || !formatNames.includes(format)) return;
            context.addIssue({
              code: 'custom',
              path: ['deliveries', index, kind, field, position],
              message: `a format that "outputs" makes (${made.join(', ')})`,
              params: { next: 'add it to "outputs", or remove it here' },
            });
          });
        }
      }
    });
  };
}

/**
 * A validated report, and where it came from. It contains references to secrets, never their values, and may be stored.
 */
export interface Definition extends ReportFile {
  /** The name of the folder in `jobs/`. */
  readonly org: string;
  /** The name of the file without its ending. */
  readonly report: string;
  /**
   * SHA-256 (hex) of the file's text, its organization's text, and the files that its outputs are made from. Two runs
   * with the same digest used the same definition.
   */
  readonly digest: string;
  /**
   * SHA-256 (hex) of the files that its outputs are made from, by path relative to the folder of `org.yaml`. Absent:
   * none.
   */
  readonly files?: Readonly<Record<string, string>>;
  /** The `split` value of this report, if `deskDefinition` made it. Never stored. */
  readonly desk?: Desk;
}

/** The schema of an entry in `deliveries`: the field of exactly one target, `send_if` and `unprotected`. */
export function createDeliverySchema({ targets, formats }: DefinitionKinds): z.ZodType<DeliverySpec> {
  const kinds = targets.map(({ kind }) => kind);
  const formatNames = formats.map(({ format }) => format);
  const fields = Object.fromEntries(targets.map(({ kind, schema }) => [kind, schema(formatNames).optional()]));
  return z
    .strictObject({
      ...fields,
      send_if: sendIfSchema.optional(),
      split: z
        .literal(true, 'true, or nothing')
        .optional()
        .describe(
          'In a report with `split`: once for each value, with the files of its pack. A path needs `split.slug`.',
        ),
      unprotected: z
        .boolean()
        .optional()
        .describe(
          'true: this delivery may send figures in the clear that another output protects with a password. Default: false.',
        ),
    })
    .superRefine((delivery: DeliverySpec, context) => {
      // A misspelt target is one error. It is not reported as a missing target as well.
      if (context.issues.length > 0) return;
      const named = kinds.filter((kind) => delivery[kind] !== undefined);
      if (named.length === 1) return;
      context.addIssue({
        code: 'custom',
        message: `exactly one target (${kinds.slice(0, -1).join(', ')} or ${kinds.at(-1)}) per entry of the list`,
        params: {
          got: named.length === 0 ? 'none' : named.join(' and '),
          next: named.length === 0 ? 'add one' : 'begin a new entry ("- ") for each',
        },
      });
    });
}
