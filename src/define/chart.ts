import { z } from 'zod';
import { lineSchema } from './words.ts';

export const CHART_KINDS = ['line', 'column', 'stacked_column', 'bar', 'sparkline'] as const;

const metricIds = z
  .array(lineSchema(200))
  .min(1)
  .refine((ids) => new Set(ids).size === ids.length, 'each metric once');
const titleSchema = lineSchema(80);

/** `chart: line`, or what is drawn and how it is named. */
export const chartSchema = z
  .union(
    [
      z.enum(CHART_KINDS),
      z.strictObject({
        kind: z.enum(CHART_KINDS),
        series: metricIds.optional().describe('Metrics of the section that are drawn, in this order; absent: all.'),
        secondary: metricIds
          .optional()
          .describe('Those of them on the second axis, as lines; absent: a second unit has the second axis.'),
        axes: z
          .strictObject({ primary: titleSchema.optional(), secondary: titleSchema.optional() })
          .optional()
          .describe('Titles of the axes with the figures; the unit is added.'),
      }),
    ],
    { error: `one of ${CHART_KINDS.join(', ')}, or a mapping with its "kind"` },
  )
  .describe('line, column, stacked_column, bar or sparkline, alone or as "kind" of a mapping.');

/** As it was written: a kind alone, or a mapping with one. */
export type ChartSpec = z.output<typeof chartSchema>;
export type ChartKind = (typeof CHART_KINDS)[number];

/** Either form as the long one. */
export const chartAsked = (chart: ChartSpec): Exclude<ChartSpec, string> =>
  typeof chart === 'string' ? { kind: chart } : chart;

interface Charted {
  readonly metrics: readonly string[];
  readonly dimensions: readonly string[];
  readonly granularity: string | undefined;
}

interface ChartFault {
  /** From the section on. */
  readonly path: (string | number)[];
  readonly message: string;
  readonly params: { readonly next?: string; readonly near?: readonly string[] };
}

/** What a chart asks that its section cannot give: a time or a group to draw along, a metric it has not, an axis too many. */
export function chartFaults(chart: ChartSpec, { metrics, dimensions, granularity }: Charted): ChartFault[] {
  const { kind, series = metrics, secondary = [], axes } = chartAsked(chart);
  const at = typeof chart === 'string' ? ['chart'] : ['chart', 'kind'];
  const faults: ChartFault[] = [];
  const fault = (path: (string | number)[], message: string, params: ChartFault['params']) =>
    faults.push({ path, message, params });

  if (granularity === undefined && (kind === 'line' || kind === 'sparkline')) {
    fault(at, 'a "granularity" for a line over time', { next: 'add a granularity, or choose another chart' });
  } else if (granularity === undefined && dimensions.length === 0) {
    fault(at, 'a "granularity" or "dimensions" to draw along', { next: 'add one of them, or remove the chart' });
  }
  if (typeof chart === 'string') return faults;

  series.forEach((id, index) => {
    if (metrics.includes(id)) return;
    fault(['chart', 'series', index], `a metric of the section (${metrics.join(', ')})`, { near: metrics });
  });
  secondary.forEach((id, index) => {
    if (series.includes(id)) return;
    fault(['chart', 'secondary', index], `a metric that is drawn (${series.join(', ')})`, { near: series });
  });
  if (secondary.length > 0 && (kind === 'bar' || kind === 'sparkline')) {
    fault(['chart', 'secondary'], `no second axis for "${kind}"`, { next: 'remove it, or choose another kind' });
  } else if (secondary.length > 0 && series.every((id) => secondary.includes(id))) {
    fault(['chart', 'secondary'], 'a metric that is left for the first axis', { next: 'leave one out here' });
  }
  if (axes !== undefined && kind === 'sparkline') {
    fault(['chart', 'axes'], 'no titles of axes for "sparkline", which has none', { next: 'remove them' });
  }
  if (granularity !== undefined && dimensions.length > 0 && chart.series !== undefined && series.length > 1) {
    fault(['chart', 'series'], 'one metric where the lines are groups over time', {
      next: 'leave one metric, or remove the dimensions or the granularity',
    });
  }
  return faults;
}
