import { z } from 'zod';
import { lineSchema, printedLineSchema } from './values/primitives.ts';

const CHART_KINDS = ['line', 'column', 'stacked_column', 'bar', 'sparkline'] as const;
const CHART_PLACES = ['above', 'beside', 'own_sheet'] as const;
/** The position of a chart in the workbook. */
export type ChartPlace = (typeof CHART_PLACES)[number];

const metricIds = z
  .array(lineSchema(200))
  .min(1)
  .refine((ids) => new Set(ids).size === ids.length, 'each metric once');
const titleSchema = printedLineSchema(80);

/** `chart: line`, or a mapping with kind, series and titles. */
export const chartSchema = z
  .union(
    [
      z.enum(CHART_KINDS),
      z.strictObject({
        kind: z.enum(CHART_KINDS),
        series: metricIds.optional().describe('Metrics of the section to draw, in this order; default: all.'),
        secondary: metricIds
          .optional()
          .describe('Metrics on the second axis, as lines; default: those of a second unit.'),
        axes: z
          .strictObject({ primary: titleSchema.optional(), secondary: titleSchema.optional() })
          .optional()
          .describe('Titles of the value axes; the unit is added.'),
        place: z
          .enum(CHART_PLACES)
          .optional()
          .describe('Where the workbook shows it: above its table (default), beside it, or on its own sheet.'),
      }),
    ],
    { error: `one of ${CHART_KINDS.join(', ')}, or a mapping with its "kind"` },
  )
  .describe('line, column, stacked_column, bar or sparkline, by itself or as "kind" of a mapping.');

/** As written: a kind, or a mapping that contains one. */
export type ChartSpec = z.output<typeof chartSchema>;
export type ChartKind = (typeof CHART_KINDS)[number];

/** Converts either form to a mapping. */
export const normalizeChart = (chart: ChartSpec): Exclude<ChartSpec, string> =>
  typeof chart === 'string' ? { kind: chart } : chart;

interface ChartedSection {
  readonly metrics: readonly string[];
  readonly dimensions: readonly string[];
  readonly granularity: string | undefined;
}

interface ChartIssue {
  /** Relative to the section. */
  readonly path: (string | number)[];
  readonly message: string;
  readonly params: { readonly next?: string; readonly near?: readonly string[] };
}

/** Requirements of a chart that its section does not meet: an x axis (time or group), known metrics, a second axis. */
export function chartIssues(chart: ChartSpec, { metrics, dimensions, granularity }: ChartedSection): ChartIssue[] {
  const { kind, series = metrics, secondary = [], axes } = normalizeChart(chart);
  const at = typeof chart === 'string' ? ['chart'] : ['chart', 'kind'];
  const faults: ChartIssue[] = [];
  const add = (path: (string | number)[], message: string, params: ChartIssue['params']) =>
    faults.push({ path, message, params });

  if (granularity === undefined && (kind === 'line' || kind === 'sparkline')) {
    add(at, 'a "granularity" for a line over time', { next: 'add a granularity, or choose another chart' });
  } else if (granularity === undefined && dimensions.length === 0) {
    add(at, 'a "granularity" or "dimensions" for the x axis', { next: 'add one of them, or remove the chart' });
  }
  if (typeof chart === 'string') return faults;

  series.forEach((id, index) => {
    if (metrics.includes(id)) return;
    add(['chart', 'series', index], `a metric of the section (${metrics.join(', ')})`, { near: metrics });
  });
  secondary.forEach((id, index) => {
    if (series.includes(id)) return;
    add(['chart', 'secondary', index], `a metric of the chart (${series.join(', ')})`, { near: series });
  });
  if (secondary.length > 0 && (kind === 'bar' || kind === 'sparkline')) {
    add(['chart', 'secondary'], `no second axis for "${kind}"`, { next: 'remove it, or choose another kind' });
  } else if (secondary.length > 0 && series.every((id) => secondary.includes(id))) {
    add(['chart', 'secondary'], 'a metric that is left for the first axis', { next: 'leave one out here' });
  }
  if (axes !== undefined && kind === 'sparkline') {
    add(['chart', 'axes'], 'no titles of axes for "sparkline", which has none', { next: 'remove them' });
  }
  if (granularity !== undefined && dimensions.length > 0 && chart.series !== undefined && series.length > 1) {
    add(['chart', 'series'], 'one metric where the lines are groups over time', {
      next: 'leave one metric, or remove the dimensions or the granularity',
    });
  }
  return faults;
}
