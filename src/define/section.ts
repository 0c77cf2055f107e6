import { z } from 'zod';
import { LIMITS } from '../contract/limits.ts';
import { FILTER_OPS, GRANULARITIES } from '../contract/report.ts';
import { idSchema, lineSchema, textSchema } from './words.ts';

export const CHART_KINDS = ['line', 'column', 'stacked_column', 'bar'] as const;

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
          z
            .array(value)
            .min(1)
            .max(LIMITS.max_filter_values, `at most ${LIMITS.max_filter_values} values (more is not supported yet)`),
        ],
        { error: 'a value or a list of values' },
      )
      .describe(`The values to compare with, one or a list; at most ${LIMITS.max_filter_values}.`),
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

/** As the API's order (specification §2.7), with words for its faults. */
const orderSchema = z.strictObject({
  by: lineSchema(200).describe('A metric or dimension of the section, or `bucket`.'),
  dir: z.enum(['asc', 'desc']).default('asc'),
});

const METRIC_FIELDS = ['metrics', 'dimensions', 'granularity', 'filters', 'order', 'limit', 'totals', 'chart'] as const;
const LIST_FIELDS = ['ordering', 'search'] as const;

/** One table of a report: metrics of a period, current counts, or a list. */
export const sectionSchema = z
  .strictObject({
    id: idSchema.describe('Names the section in files and errors; unique in the report.'),
    title: lineSchema(200).optional().describe('Defaults to the id.'),
    description: textSchema(2000).optional(),
    metrics: z
      .array(metricId)
      .min(1)
      .max(LIMITS.max_metrics, `at most ${LIMITS.max_metrics} metrics a section (more is not supported yet)`)
      .optional()
      .describe(`Metric ids; each becomes a column. At most ${LIMITS.max_metrics}.`),
    dimensions: z
      .array(dimensionId)
      .max(LIMITS.max_dimensions, `at most ${LIMITS.max_dimensions} dimensions`)
      .optional()
      .describe('Dimension ids to group by, at most two.'),
    granularity: z
      .enum(GRANULARITIES)
      .optional()
      .describe('Absent: one row per group; the only way to read a current count.'),
    filters: z.array(filterSchema).optional().describe('A row must pass every filter.'),
    order: z.array(orderSchema).optional().describe('Absent: by bucket, then by each dimension.'),
    limit: z
      .int({ error: 'a whole number' })
      .min(1)
      .max(LIMITS.max_rows)
      .optional()
      .describe('Rows kept after sorting; a table that was cut is marked.'),
    totals: z.boolean().default(false).describe("Adds the service's own totals row."),
    chart: z.enum(CHART_KINDS).optional(),
    list: z.literal('profiles').optional().describe('Exports a list instead of metrics, all pages.'),
    ordering: z
      .string()
      .regex(/^-?[A-Za-z_][A-Za-z0-9_.]*$/, 'a field name, "-" in front to reverse')
      .optional()
      .describe('Of a list: a field name, "-" in front reverses.'),
    search: lineSchema(200).optional().describe('Of a list: free text.'),
  })
  .superRefine(crossCheck, { when: () => true });

/** What a section may look like when some of its fields are faulty: whatever cannot be read is as if absent. */
const texts = z.array(z.string().catch('')).optional().catch(undefined);
const sketchSchema = z
  .looseObject({
    metrics: texts,
    dimensions: texts,
    granularity: z.string().optional().catch(undefined),
    order: z
      .array(z.looseObject({ by: z.string() }))
      .optional()
      .catch(undefined),
    chart: z.string().optional().catch(undefined),
  })
  .catch({});

/** The rules between fields. They are checked even when a field has a fault of its own, so that all faults come at once. */
function crossCheck(section: unknown, context: z.core.$RefinementCtx): void {
  if (typeof section !== 'object' || section === null) return;
  const fault = (path: (string | number)[], message: string, next?: string) =>
    context.addIssue({ code: 'custom', path, message, ...(next === undefined ? {} : { params: { next } }) });
  const has = (name: string) => {
    const found: unknown = Reflect.get(section, name);
    return found !== undefined && found !== false;
  };

  if (has('list') === has('metrics')) {
    const both = has('list');
    fault(
      both ? ['list'] : [],
      'either "metrics" or "list" in a section',
      both ? 'make two sections of it' : 'add one of them',
    );
    if (both) return;
  }
  for (const name of has('list') ? METRIC_FIELDS : LIST_FIELDS) {
    if (has(name))
      fault(
        [name],
        `no "${name}" here: it belongs to a section with "${has('list') ? 'metrics' : 'list'}"`,
        'remove it',
      );
  }
  if (has('list')) return;

  const { metrics = [], dimensions = [], granularity, order = [], chart } = sketchSchema.parse(section);
  for (const [name, ids] of Object.entries({ metrics, dimensions })) {
    ids.forEach((id, index) => {
      if (ids.indexOf(id) < index && id !== '')
        fault([name, index], `each of the ${name} once`, 'remove the second one');
    });
  }
  const columns = [...metrics, ...dimensions, ...(granularity === undefined ? [] : ['bucket'])];
  order.forEach(({ by }, index) => {
    if (columns.includes(by)) return;
    context.addIssue({
      code: 'custom',
      path: ['order', index, 'by'],
      message: `a column of the section (${columns.join(', ')})`,
      params: { near: columns },
    });
  });
  if (chart === 'line' && granularity === undefined)
    fault(['chart'], 'a "granularity" for a line over time', 'add a granularity, or choose another chart');
  else if (chart !== undefined && granularity === undefined && dimensions.length === 0) {
    fault(['chart'], 'a "granularity" or "dimensions" to draw along', 'add one of them, or remove the chart');
  }
}
