import { z } from 'zod';
import { LIMITS } from '../../contract/limits.ts';
import { FILTER_OPS, GRANULARITIES } from '../../contract/report.ts';
import { periodSpecSchema } from '../periods/period-spec.ts';
import { chartIssues, chartSchema } from './chart.ts';
import { compareSchema, toDateSchema } from './comparison.ts';
import { isTrendOfScorecard, layoutFields, layoutIssues, sectionMetrics, withGroupMetrics } from './layout.ts';
import { commentarySchema } from './review.ts';
import { idSchema, lineSchema, printedLineSchema, printedTextSchema } from './values/primitives.ts';

/**
 * The most metrics of a section, and values of a filter. Sections that are too large for one call (specification §8)
 * are split.
 */
const MAX_METRICS = 100;
const MAX_FILTER_VALUES = 1000;

const metricId = lineSchema(200);
const dimensionId = lineSchema(200);

const value = z.string({ error: 'a text (in quotes where it looks like a number)' }).min(1, 'a text that is not empty');
const filterSchema = z
  .strictObject({
    dimension: dimensionId.describe('Id of the dimension; every metric of the section must accept it.'),
    op: z.enum(FILTER_OPS).default('in').describe('eq: exactly one value; in: any of them; not_in: none of them.'),
    values: z
      .union(
        [
          value.transform((only) => [only]),
          z.array(value).min(1).max(MAX_FILTER_VALUES, `at most ${MAX_FILTER_VALUES} values`),
        ],
        { error: 'a value or a list of values' },
      )
      .describe(
        `The values to compare with, one or a list; more than ${LIMITS.max_filter_values} take several calls, where the result is the same.`,
      ),
  })
  .superRefine(({ op, values }, context) => {
    if (op === 'eq' && values.length > 1) {
      context.addIssue({
        code: 'custom',
        path: ['values'],
        message: 'exactly one value for "eq"',
        params: { next: 'write "op: in", or leave one value' },
      });
    }
  });

/** The API's order (specification §2.7), with messages for diagnostics. */
const orderSchema = z.strictObject({
  by: lineSchema(200).describe('A metric or dimension of the section, or `bucket`.'),
  dir: z.enum(['asc', 'desc']).default('asc'),
});

const METRIC_FIELDS = [
  'metrics',
  'dimensions',
  'granularity',
  'period',
  'compare',
  'to_date',
  'filters',
  'order',
  'limit',
  'totals',
  'chart',
] as const;
const LIST_FIELDS = ['ordering', 'search'] as const;
/** A text section has no figures, and therefore none of these fields. */
const NOT_OF_TEXT = [
  'metrics',
  'list',
  ...METRIC_FIELDS.slice(1),
  ...LIST_FIELDS,
  'groups',
  'trend',
  'top',
  'worst',
  'commentary',
] as const;

const fieldsSchema = z.strictObject({
  id: idSchema.describe('Names the section in files and errors; unique in the report.'),
  title: printedLineSchema(200).optional().describe('Defaults to the id.'),
  description: printedTextSchema(2000).optional(),
  ...layoutFields,
  metrics: z
    .array(metricId)
    .min(1)
    .max(MAX_METRICS, `at most ${MAX_METRICS} metrics a section`)
    .optional()
    .describe(
      `Metric ids; each becomes a column. More than ${LIMITS.max_metrics} are requested in several calls. A trend without them shows those of the report's first scorecard, breached ones first.`,
    ),
  dimensions: z
    .array(dimensionId)
    .max(LIMITS.max_dimensions, `at most ${LIMITS.max_dimensions} dimensions`)
    .optional()
    .describe('Dimension ids to group by, at most two.'),
  granularity: z
    .enum(GRANULARITIES)
    .optional()
    .describe('Default: one row per group; the only way to read a current count.'),
  period: periodSpecSchema
    .optional()
    .describe(
      "The section's own days, instead of the report's; frozen when the run is triggered. Computed at the end of the report's period, or now if that is earlier (`period_from`).",
    ),
  compare: compareSchema.optional().describe("The section's own comparisons, instead of the report's `compare`."),
  to_date: toDateSchema
    .optional()
    .describe(
      "The section's own, instead of the report's `to_date`. With a granularity it is shown in the totals, which the section then needs.",
    ),
  filters: z.array(filterSchema).max(20).optional().describe('A row must pass every filter.'),
  order: z.array(orderSchema).max(LIMITS.max_metrics).optional().describe('Default: by bucket, then by dimension.'),
  limit: z
    .int()
    .min(1)
    .max(LIMITS.max_rows)
    .optional()
    .describe('Rows kept after sorting; a truncated table is marked.'),
  totals: z
    .boolean()
    .default(false)
    .describe(
      "Adds a row with the service's totals. If a section takes several calls, totals of plain counts are the sums of the calls.",
    ),
  chart: chartSchema.optional(),
  list: z.literal('profiles').optional().describe('Exports a list instead of metrics, all pages.'),
  ordering: z
    .string()
    .regex(/^-?[A-Za-z_][A-Za-z0-9_.]*$/, 'a field name, with a leading "-" to reverse the order')
    .optional()
    .describe('List only: a field name to sort by; a leading "-" reverses the order.'),
  search: lineSchema(200).optional().describe('List only: free text to search for.'),
  commentary: commentarySchema.optional(),
  split: z
    .literal(false, 'false, or nothing')
    .optional()
    .describe('In a report with `split`: false makes the section the same in every pack.'),
});

type SectionFields = z.output<typeof fieldsSchema>;

/** Rules between fields. They run only if each field is valid, so that one mistake gives one diagnostic. */
function crossCheck(section: SectionFields, context: z.core.$RefinementCtx): void {
  if (context.issues.length > 0) return;
  const add = (path: (string | number)[], message: string, params: object) =>
    context.addIssue({ code: 'custom', path, message, params });
  const has = (name: keyof SectionFields) => section[name] !== undefined && section[name] !== false;

  if (section.layout === 'text') {
    for (const name of NOT_OF_TEXT) {
      if (has(name))
        add([name], `no "${name}" here: a section of text has no figures of its own`, { next: 'remove it' });
    }
    return;
  }
  const { commentary } = section;
  if (commentary !== undefined && 'required_if' in commentary && commentary.required_if !== undefined) {
    if (has('list')) {
      add(['commentary', 'required_if'], 'no "required_if" here: a list has no figures with a status', {
        next: 'write commentary: required, or optional',
      });
    } else if (commentary.required === true) {
      add(['commentary', 'required_if'], 'either "required" or "required_if"', { next: 'remove one of them' });
    }
  }
  const hasMetrics = has('metrics') || has('groups');
  if (has('list') === hasMetrics && !isTrendOfScorecard(section)) {
    const both = has('list');
    const next = both ? 'make two sections of it' : 'add one of them';
    add(both ? ['list'] : [], 'either "metrics" or "list" in a section', { next });
    return;
  }
  const layout = layoutIssues(section, (name) => has(name as keyof SectionFields));
  for (const { path, message, params } of layout) add(path, message, params);
  const requiredField = has('list') ? 'metrics' : 'list';
  for (const name of has('list') ? METRIC_FIELDS : LIST_FIELDS) {
    if (has(name) && !layout.some(({ path }) => path[0] === name))
      add([name], `no "${name}" here: it belongs to a section with "${requiredField}"`, { next: 'remove it' });
  }
  if (has('list')) return;

  const { dimensions = [], granularity, order = [], chart } = section;
  const metrics = sectionMetrics(section);
  if (metrics.length > MAX_METRICS && has('groups')) {
    add(['groups'], `at most ${MAX_METRICS} metrics a section`, { next: 'make two sections of it' });
  }
  if (has('to_date') && has('granularity') && !section.totals) {
    add(['to_date'], 'a section with "totals: true", or without "granularity": the figure is for the whole period', {
      next: 'add totals: true',
    });
  }
  for (const [name, ids] of Object.entries({ metrics: section.metrics ?? [], dimensions })) {
    ids.forEach((id, index) => {
      if (ids.indexOf(id) < index) add([name, index], `each of the ${name} once`, { next: 'remove the second one' });
    });
  }
  const columns = [...metrics, ...dimensions, ...(granularity === undefined ? [] : ['bucket'])];
  order.forEach(({ by }, index) => {
    if (columns.includes(by)) return;
    add(['order', index, 'by'], `a column of the section (${columns.join(', ')})`, { near: columns });
  });
  if (chart === undefined || layout.some(({ path }) => path[0] === 'chart')) return;
  for (const { path, message, params } of chartIssues(chart, { metrics, dimensions, granularity })) {
    add(path, message, params);
  }
}

/**
 * A section of a report: a table of metrics of a period, of current counts or of a list, or a text. `metrics` includes
 * those of `groups`.
 */
export const sectionSchema = fieldsSchema
  .superRefine(crossCheck)
  .transform((section): SectionFields => withGroupMetrics(section));
